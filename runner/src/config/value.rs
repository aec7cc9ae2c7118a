//! The values in a configuration file. They are checked while they are read, so that a message
//! points at the wrong value.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use clmatrix::select::{PatternError, PlatformPattern};
use globset::{Glob, GlobBuilder, GlobMatcher};
use regex::RegexSet;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::result::test_id::suite;
use crate::text::exact_glob;

/// A value that is written as a TOML string.
pub(super) trait Text: Sized {
    /// The expected value, for the message about a value that is not a string.
    const EXPECTED: &str;

    /// Checks the text; the error is the reason why it is invalid.
    fn parse(text: &str) -> Result<Self, String>;
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Text> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }
}

/// Reads a value.
pub(super) fn deserialize<'de, T: Text, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// Implements serde's trait, which cannot be implemented for every [`Text`] at once.
macro_rules! deserialize_from_text {
    ($($type:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::config::value::deserialize(deserializer)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let expected = <Self as $crate::config::value::Text>::EXPECTED;
                schemars::json_schema!({ "type": "string", "title": expected })
            }
        }
    )*};
}

pub(super) use deserialize_from_text;

/// A glob, compiled for the first text that it may match: most globs of a configuration are for other tests or
/// devices.
#[derive(Clone, Debug)]
pub(super) struct LazyGlob {
    /// The glob as written.
    pub(super) text: String,
    ignores_case: bool,
    /// The length of the part before the first special character, in bytes. If case does not matter, the
    /// part ends before the first letter, too.
    literal: usize,
    matcher: OnceLock<GlobMatcher>,
}

/// The greatest length of a glob, in bytes.
const MOST_BYTES: usize = 4 << 10;

impl LazyGlob {
    pub(super) fn case_sensitive(text: &str) -> Result<Self, String> {
        Self::new(text, false)
    }

    fn case_insensitive(text: &str) -> Result<Self, String> {
        Self::new(text, true)
    }

    fn new(text: &str, ignores_case: bool) -> Result<Self, String> {
        let has_meaning = |c: char| "*?[]{}\\".contains(c) || ignores_case && c.is_alphabetic();
        // globset makes no matcher of a much longer one.
        if text.len() > MOST_BYTES {
            return Err(format!("a glob has at most {MOST_BYTES} bytes"));
        }
        let literal = text.find(has_meaning).unwrap_or(text.len());
        let text = text.to_owned();
        let glob = Self { text, ignores_case, literal, matcher: OnceLock::new() };
        // A glob with `*` and `?` alone is always valid.
        if glob.text.contains(['[', ']', '{', '}', '\\']) {
            glob.build().map_err(|error| format!("invalid glob: {}", error.kind()))?;
        }
        Ok(glob)
    }

    fn build(&self) -> Result<Glob, globset::Error> {
        let mut builder = GlobBuilder::new(&self.text);
        // `{,_x}` is one of nothing and `_x`. On Windows a backslash would be a separator of paths.
        let builder = builder.empty_alternates(true).backslash_escape(true);
        builder.case_insensitive(self.ignores_case).build()
    }

    /// Returns whether all of `text` matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let (literal, rest) = self.text.split_at(self.literal);
        let compiled = || self.build().expect("it was checked").compile_matcher();
        text.starts_with(literal)
            && (rest == "*" || self.matcher.get_or_init(compiled).is_match(text))
    }
}

/// A glob for the ids of devices. Case does not matter.
#[derive(Clone, Debug)]
pub(super) struct IdPattern(pub(super) LazyGlob);

impl Text for IdPattern {
    const EXPECTED: &str = "a glob such as \"nvidia-*\"";

    fn parse(text: &str) -> Result<Self, String> {
        LazyGlob::case_insensitive(text).map(Self)
    }
}

/// The platforms that the same text selects in `--devices`.
#[derive(Clone, Debug)]
pub(super) struct PlatformName {
    /// The text as written.
    pub(super) text: String,
    pattern: PlatformPattern,
}

/// The names and vendors of usual platforms.
const PLATFORMS: [(&str, &str); 14] = [
    ("Portable Computing Language", "The pocl project"),
    ("rusticl", "Mesa/X.org"),
    ("Clover", "Mesa"),
    ("Oclgrind", "Oclgrind"),
    ("Intel(R) OpenCL", "Intel(R) Corporation"),
    ("Intel(R) OpenCL Graphics", "Intel(R) Corporation"),
    ("Intel(R) FPGA Emulation Platform for OpenCL(TM)", "Intel(R) Corporation"),
    ("NVIDIA CUDA", "NVIDIA Corporation"),
    ("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc."),
    ("Apple", "Apple"),
    ("ARM Platform", "ARM"),
    ("QUALCOMM Snapdragon(TM)", "QUALCOMM"),
    ("clvk", "clvk"),
    ("OpenCLOn12", "Microsoft"),
];

impl PlatformName {
    /// Returns whether it selects a platform of this name and vendor.
    pub(super) fn matches(&self, name: &str, vendor: &str) -> bool {
        self.pattern.matches(name, vendor)
    }

    /// Returns whether it selects a usual platform, which may be on another machine.
    pub(super) fn is_usual(&self) -> bool {
        PLATFORMS.iter().any(|(name, vendor)| self.matches(name, vendor))
    }
}

impl Text for PlatformName {
    const EXPECTED: &str = "a part of a platform's name or vendor, or a glob such as \"*nvidia*\"";

    fn parse(text: &str) -> Result<Self, String> {
        let pattern = text.parse().map_err(|error: PatternError| error.to_string())?;
        Ok(Self { text: text.to_owned(), pattern })
    }
}

/// A part of a driver's answer, or with `*`, `?`, `[...]` or `{...}` a glob for the whole answer.
///
/// Case does not matter, since drivers spell the same name differently from version to version.
#[derive(Clone, Debug)]
pub(super) enum NamePattern {
    /// With ASCII letters in lower case.
    Part(String),
    Whole(LazyGlob),
}

impl NamePattern {
    /// Returns whether `name` matches; blanks around it do not count, since some drivers add them.
    // quirk: DRIVER-6
    pub(super) fn matches(&self, name: &str) -> bool {
        let name = name.trim();
        match self {
            Self::Part(part) => name.to_ascii_lowercase().contains(part),
            Self::Whole(glob) => glob.matches(name),
        }
    }
}

impl Text for NamePattern {
    const EXPECTED: &str = "a part of a name, or a glob such as \"*nvidia*\"";

    fn parse(text: &str) -> Result<Self, String> {
        match text.contains(['*', '?', '[', '{']) {
            true => LazyGlob::case_insensitive(text).map(Self::Whole),
            false => Ok(Self::Part(text.to_ascii_lowercase())),
        }
    }
}

/// A glob for a part of a line: the first line of a failure's message, or the signal of a crash. Case
/// matters.
#[derive(Clone, Debug)]
pub struct MessagePattern(LazyGlob);

impl Text for MessagePattern {
    const EXPECTED: &str = "a glob such as \"CL_INVALID_*\"";

    fn parse(text: &str) -> Result<Self, String> {
        // Checked alone first, so that an error names the part as written.
        LazyGlob::case_sensitive(text)?;
        LazyGlob::case_sensitive(&format!("*{text}*")).map(Self)
    }
}

impl MessagePattern {
    /// Returns whether a part of `line` matches.
    pub(super) fn matches(&self, line: &str) -> bool {
        self.0.matches(line)
    }
}

/// A glob for `suite::test::case`. Case matters, as in the ids themselves.
#[derive(Clone, Debug)]
pub(super) struct TestPattern(pub(super) LazyGlob);

impl TestPattern {
    /// Returns whether it names a suite of `tests`, given without their devices, and matches none of them. A pattern
    /// for another suite may be for another target below the same configuration.
    pub(super) fn is_unmatched(&self, tests: &[String]) -> bool {
        let own = suite(&self.0.text);
        own.is_some()
            && tests.iter().any(|test| suite(test) == own)
            && !tests.iter().any(|test| self.0.matches(test))
    }
}

/// Returns the glob for `test` alone, as the key `test` of an expectation has it.
pub fn exact_test(test: &str) -> String {
    exact_glob(test).replace('@', AT)
}

/// An `@` in the name of a test, which is then not the beginning of a device.
const AT: &str = "[@]";

impl Text for TestPattern {
    const EXPECTED: &str = "a glob such as \"suite::test::*\"";

    fn parse(text: &str) -> Result<Self, String> {
        match text.replace(AT, "").contains('@') {
            true => Err("a test has no device in its name: name the device with `id`; \
                         an @ in the name of a test is written [@]"
                .to_owned()),
            false => LazyGlob::case_sensitive(text).map(Self),
        }
    }
}

/// The time limit of a test, longer than zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeout(pub(super) Duration);

impl Text for Timeout {
    const EXPECTED: &str = "a duration such as \"60s\"";

    fn parse(text: &str) -> Result<Self, String> {
        time_limit(text).map(Self)
    }
}

/// Parses a time limit, such as `60s`.
///
/// # Errors
///
/// The text is not a duration, or zero.
pub fn time_limit(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("a time limit must be longer than zero".to_owned()),
        Ok(duration) => Ok(duration),
        Err(error) => Err(format!("invalid duration: {error}")),
    }
}

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

/// The evidence for an expectation; never empty.
#[derive(Clone, Debug)]
pub(super) struct Reason;

impl Text for Reason {
    const EXPECTED: &str = "the reason as a text";

    fn parse(text: &str) -> Result<Self, String> {
        let error = "empty `reason`: describe what the driver does, and the evidence";
        (!text.trim().is_empty()).then_some(Self).ok_or_else(|| error.to_owned())
    }
}

/// The address of a report about an expectation; never empty.
#[derive(Clone, Debug)]
pub(super) struct Ticket;

impl Text for Ticket {
    const EXPECTED: &str = "an address as a text";

    fn parse(text: &str) -> Result<Self, String> {
        let error = "empty `ticket`: give the address of a report";
        (!text.trim().is_empty()).then_some(Self).ok_or_else(|| error.to_owned())
    }
}

/// A size in bytes, at least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size(pub(super) u64);

/// The units, with their bytes as a power of two.
const UNITS: [(&str, u32); 4] = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

impl Text for Size {
    const EXPECTED: &str = "a size such as \"64 KiB\"";

    fn parse(text: &str) -> Result<Self, String> {
        let size = UNITS.iter().find_map(|(unit, bits)| {
            let number: u64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
            number.checked_mul(1 << bits)
        });
        let size = size.filter(|bytes| *bytes > 0).map(Self);
        size.ok_or_else(|| format!("{text:?} is not {}: B, KiB, MiB or GiB", Self::EXPECTED))
    }
}

/// The address of a line of a source, with `{file}` and `{line}`.
#[derive(Clone, Debug)]
pub(super) struct SourceUrl(pub(super) String);

impl Text for SourceUrl {
    const EXPECTED: &str = "an address such as \"https://host/project/blob/main/{file}#L{line}\"";

    fn parse(text: &str) -> Result<Self, String> {
        let is_web = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
        match is_web && text.contains("{file}") {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("{text:?} is not {}", Self::EXPECTED)),
        }
    }
}

/// A factor for time limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64")]
pub struct TimeoutFactor(f64);

impl TimeoutFactor {
    /// Multiplies a limit.
    pub fn times(self, limit: Duration) -> Duration {
        Duration::try_from_secs_f64(limit.as_secs_f64() * self.0).unwrap_or(Duration::MAX)
    }

    /// Returns the factor.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for TimeoutFactor {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for TimeoutFactor {
    type Error = &'static str;

    fn try_from(factor: f64) -> Result<Self, Self::Error> {
        let is_factor = factor.is_finite() && factor > 0.0;
        is_factor.then_some(Self(factor)).ok_or("a factor must be a number greater than zero")
    }
}

impl FromStr for TimeoutFactor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().unwrap_or(f64::NAN).try_into()
    }
}

/// The lines that a driver writes to standard error when it finds an error of a test.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "Vec<String>"))]
pub struct Diagnostics(pub(super) RegexSet);

impl PartialEq for Diagnostics {
    fn eq(&self, other: &Self) -> bool {
        self.0.patterns() == other.0.patterns()
    }
}

impl Serialize for Diagnostics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.patterns().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Diagnostics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expressions = Vec::<Expression>::deserialize(deserializer)?;
        // Each is valid by itself, but all together can be too large.
        let set = RegexSet::new(expressions.iter().map(|expression| &expression.0));
        set.map(Self).map_err(D::Error::custom)
    }
}

/// A valid regular expression.
struct Expression(String);

impl Text for Expression {
    const EXPECTED: &str = "a regular expression such as '^Invalid read'";

    fn parse(text: &str) -> Result<Self, String> {
        let explain = |error: regex_syntax::Error| {
            let error = error.to_string();
            // The parser's message has several lines; the last line has the reason.
            let last = error.lines().last().unwrap_or_default();
            format!("invalid regular expression: {}", last.trim_start_matches("error: "))
        };
        // Only parsed: the whole set is compiled later.
        regex_syntax::parse(text).map(|_| Self(text.to_owned())).map_err(explain)
    }
}

deserialize_from_text!(
    IdPattern,
    PlatformName,
    NamePattern,
    MessagePattern,
    TestPattern,
    Timeout,
    LastDay,
    Reason,
    Ticket,
    Size,
    SourceUrl,
    Expression
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_glob_matches_and_a_longer_one_is_refused() {
        let longest = "?".repeat(2) + &"a".repeat(MOST_BYTES - 4);
        let pattern = MessagePattern::parse(&longest).unwrap();
        assert!(pattern.matches(&longest) && !pattern.matches("a"));
        assert!(NamePattern::parse(&longest).is_ok());
        let error = TestPattern::parse(&format!("{longest}???")).unwrap_err();
        assert_eq!(error, "a glob has at most 4096 bytes");
    }

    #[test]
    fn names_match_by_a_part_or_as_a_whole() {
        let cases = [
            ("oclgrind", "Oclgrind", true),
            ("*nvidia*", "NVIDIA Corporation", true),
            ("nvidia", "NVIDIA Corporation", true),
            ("nvidia*", "The NVIDIA Corporation", false),
            ("(R) Core(TM)", "Intel(R) Core(TM) i7", true),
            ("Intel(R) *", "Intel(R) OpenCL Graphics", true),
            ("*.10", "Oclgrind 21.10", true),
            ("535.*", "535.104.05", true),
            ("535.*", "545.23", false),
            ("3.1+*", "3.1", false),
            ("3.1+d?bian", "3.1+Debian", true),
            ("*b", "a/b", true),
            ("llvmpipe*", "llvmpipe (LLVM 15.0.6, 256 bits)", true),
            ("{pocl,rusticl}-*", "rusticl-cpu", true),
            ("gfx", "gfx ", true),
            ("gfx*", "gfx ", true),
            ("gfx ", "gfx ", false),
            ("a\\b", "an a\\b", true),
            ("!a", "!A", true),
            ("\u{e9}", "\u{c9}", false),
            ("\u{e9}*", "\u{c9}", false),
            ("gfx[", "gfx", false),
        ];
        for (glob, name, expected) in cases {
            let matches = NamePattern::parse(glob).is_ok_and(|pattern| pattern.matches(name));
            assert_eq!(matches, expected, "{glob:?} on {name:?}");
        }
    }

    #[test]
    fn tests_match_as_a_whole() {
        for (glob, test, expected) in [
            ("s::t", "s::t", true),
            ("s::t", "s::t::case", false),
            ("s::t", "s::T", false),
            ("s::t::*", "s::t::case_1_a::b", true),
            ("s::t::*", "s::t", false),
            ("s::t*", "s::t", true),
            ("s::t**", "s::t::x", true),
            ("s::{a,b}::*", "s::b::x", true),
            ("s::t{,_x}", "s::t", true),
            ("s::a[@]b", "s::a@b", true),
            ("s::a[@]b", "s::a[@]b", false),
            ("s::t[12]", "s::t2", true),
            ("s::t[12]", "s::t3", false),
            ("s::t\\[12]", "s::t[12]", true),
            ("*::t", "s::t", true),
        ] {
            assert_eq!(
                TestPattern::parse(glob).unwrap().0.matches(test),
                expected,
                "{glob} {test}"
            );
        }
    }

    #[test]
    fn ids_match_as_a_whole() {
        for (glob, id, expected) in [
            ("pocl-cpu", "pocl-cpu", true),
            ("pocl-cpu{,-1}", "pocl-cpu", true),
            ("pocl-cpu{,-1}", "pocl-cpu-1", true),
            ("POCL-*", "pocl-cpu", true),
            ("pocl-cpu", "pocl-cpu-5.0", false),
        ] {
            let matches = IdPattern::parse(glob).is_ok_and(|pattern| pattern.0.matches(id));
            assert_eq!(matches, expected, "{glob:?} on {id:?}");
        }
    }

    #[test]
    fn a_size_is_a_number_with_a_unit() {
        for (text, expected) in [
            ("1 B", Some(1)),
            ("64 KiB", Some(64 << 10)),
            ("3MiB", Some(3 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("0 KiB", None),
            ("64", None),
            ("64 KB", None),
            ("1.5 GiB", None),
            ("-1 B", None),
            ("99999999999999 GiB", None),
        ] {
            assert_eq!(Size::parse(text).ok(), expected.map(Size), "{text}");
        }
    }

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
