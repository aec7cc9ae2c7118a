//! The key `until` of an expectation.

use std::time::{Duration, SystemTime};

use super::text_value::{Text, deserialize_from_text};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time before the end of an expectation at which a warning is given.
const NOTICE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// The last day on which an expectation counts, in UTC: its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastDay(SystemTime);

impl LastDay {
    /// Returns whether the day is over.
    pub(super) fn is_over(self, now: SystemTime) -> bool {
        now >= self.0
    }

    /// Returns whether the day is over within two weeks.
    pub(super) fn is_near(self, now: SystemTime) -> bool {
        now >= self.0 - NOTICE
    }
}

impl Text for LastDay {
    const EXPECTED: &str = "a day in quotes, such as \"2027-03-01\"";

    fn parse(text: &str) -> Result<Self, String> {
        let midnight = humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
        let end = midnight.map(|midnight| Self(midnight + DAY));
        end.map_err(|error| format!("not a day such as 2027-03-01: {error}"))
    }
}

deserialize_from_text!(LastDay);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_near_for_two_weeks_and_then_over() {
        let last = LastDay::parse("2027-03-01").unwrap();
        for (now, is_near, is_over) in [
            ("2027-02-15T23:59:59Z", false, false),
            ("2027-02-16T00:00:00Z", true, false),
            ("2027-03-01T23:59:59Z", true, false),
            ("2027-03-02T00:00:00Z", true, true),
        ] {
            let time = humantime::parse_rfc3339(now).unwrap();
            assert_eq!((last.is_near(time), last.is_over(time)), (is_near, is_over), "{now}");
        }
    }

    #[test]
    fn a_day_is_one_of_the_calendar() {
        for (text, is_day) in [
            ("2028-02-29", true),
            ("2027-02-29", false),
            ("2027-13-01", false),
            ("2027-3-1", false),
            ("1.3.2027", false),
            ("", false),
        ] {
            assert_eq!(LastDay::parse(text).is_ok(), is_day, "{text}");
        }
    }
}
