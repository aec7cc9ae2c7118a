//! Ranges of versions, such as `>=22.3, <23.0`.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use super::value::{NamePattern, Text, deserialize_from_text};

/// The numbers of a version. Zeros at the end have no effect: 22.3 is 22.3.0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionNumbers(Vec<u64>);

impl VersionNumbers {
    pub(super) fn new(mut numbers: Vec<u64>) -> Self {
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        Self(numbers)
    }

    /// Finds the versions in a text or a glob: `{3.1,5.0}*` has 3.1 and 5.0.
    pub fn all(text: &str) -> impl Iterator<Item = Self> {
        text.split(|c: char| "{},*?[]".contains(c)).filter_map(Self::find)
    }

    /// Finds the numbers in a driver's text: from the first digit, between dots and other separators, up to
    /// the first part that is not a number. `Oclgrind 21.10` has 21 and 10, `3.1+debian` has 3 and 1, and
    /// `r26p0` has none.
    pub fn find(text: &str) -> Option<Self> {
        let from_digit = text.find(|c: char| c.is_ascii_digit()).map_or("", |start| &text[start..]);
        let parts = from_digit.split(|c: char| !c.is_alphanumeric());
        let numbers: Vec<u64> = parts.map_while(|part| part.parse().ok()).collect();
        (!numbers.is_empty()).then(|| Self::new(numbers))
    }
}

/// `22.3.6`; two numbers at least.
impl fmt::Display for VersionNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(numbers) = self;
        let number = |place: usize| numbers.get(place).unwrap_or(&0).to_string();
        f.write_str(&(0..numbers.len().max(2)).map(number).collect::<Vec<_>>().join("."))
    }
}

/// Comparisons, all of which a version must meet: the symbol of each has a sign for each order that it allows.
#[derive(Clone, Debug, Default)]
pub struct VersionRange(Vec<(&'static str, VersionNumbers)>);

/// All symbols; of two with the same beginning, the longer one first.
const SYMBOLS: [&str; 5] = ["<=", ">=", "<", ">", "="];

impl VersionRange {
    fn parse_parts<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        parts.map(comparison).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the range of exactly this version.
    pub fn only(version: VersionNumbers) -> Self {
        Self(vec![("=", version)])
    }

    /// Returns the part of this range that is older than `version`, if there is one.
    fn older_than(&self, version: &VersionNumbers) -> Option<Self> {
        let mut lower = self.0.iter().filter(|(symbol, _)| is_lower(symbol));
        let has_older =
            *version > VersionNumbers::default() && lower.all(|(_, bound)| bound < version);
        has_older.then(|| self.between(None, Some(version)))
    }

    /// Returns the part of this range between two versions, of which each may be missing.
    fn between(&self, above: Option<&VersionNumbers>, below: Option<&VersionNumbers>) -> Self {
        let stays = |(symbol, _): &&(&str, VersionNumbers)| {
            if is_lower(symbol) { above.is_none() } else { below.is_none() }
        };
        let kept = self.0.iter().filter(stays).cloned();
        let above = above.map(|version| (">", version.clone()));
        let below = below.map(|version| ("<", version.clone()));
        Self(kept.chain(above).chain(below).collect())
    }

    /// Returns whether a version is in this range.
    pub(super) fn contains(&self, version: &VersionNumbers) -> bool {
        self.0.iter().all(|(symbol, bound)| {
            symbol.contains(match version.cmp(bound) {
                Ordering::Less => '<',
                Ordering::Equal => '=',
                Ordering::Greater => '>',
            })
        })
    }
}

/// Returns whether a comparison with this symbol excludes older versions.
fn is_lower(symbol: &str) -> bool {
    !symbol.contains('<')
}

/// `>=22.3, <23`.
impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(symbol, bound): &(&str, VersionNumbers)| format!("{symbol}{bound}");
        f.write_str(&self.0.iter().map(part).collect::<Vec<_>>().join(", "))
    }
}

impl Text for VersionRange {
    const EXPECTED: &str = "a range such as \">=2.0, <3.0\"";

    fn parse(text: &str) -> Result<Self, String> {
        Self::parse_parts(text.split(',').map(str::trim))
    }
}

fn comparison(part: &str) -> Result<(&'static str, VersionNumbers), String> {
    let found = SYMBOLS.into_iter().find_map(|symbol| Some((symbol, part.strip_prefix(symbol)?)));
    let (symbol, version) = found.ok_or_else(|| {
        format!("invalid range: `{part}` does not begin with `<`, `<=`, `=`, `>=` or `>`")
    })?;
    let numbers: Result<_, _> = version.trim().split('.').map(str::parse).collect();
    let numbers = numbers.map_err(|_| {
        format!("invalid range: `{}` is not a version such as 22.3", version.trim())
    })?;
    Ok((symbol, VersionNumbers::new(numbers)))
}

/// The versions of a driver: those where a fault was seen, and bounds for all to which it may extend.
#[derive(Clone, Debug, Default)]
pub(super) struct VersionPattern {
    /// If there is none, the fault is at all versions within the bounds.
    seen: Vec<SeenAt>,
    bounds: VersionRange,
}

/// The versions where a fault was seen.
#[derive(Clone, Debug)]
struct SeenAt {
    /// As written.
    text: String,
    /// A part of the version, or a glob for all of it; `None` for exactly one version.
    pattern: Option<NamePattern>,
    /// The versions that the text names.
    versions: Vec<VersionNumbers>,
}

/// The bounds of an entry without the versions at which its tests have passed.
#[derive(Clone, Debug, PartialEq)]
pub enum Narrowed {
    /// These versions are left.
    To(String),
    /// No version is left.
    Nowhere,
    /// The versions are between others.
    Not,
}

impl VersionPattern {
    /// Returns whether this version matches; `None` if it has no numbers to be compared.
    pub(super) fn matches(&self, version: &str) -> Option<bool> {
        let numbers = VersionNumbers::find(version);
        let is_seen = |seen: &SeenAt| match &seen.pattern {
            Some(pattern) => Some(pattern.matches(version)),
            None => numbers.as_ref().map(|numbers| seen.versions.contains(numbers)),
        };
        let mut seen = self.seen.iter().map(is_seen);
        if self.seen.is_empty() || seen.clone().any(|seen| seen == Some(true)) {
            return self.allows(version);
        }
        seen.all(|seen| seen.is_some()).then_some(false)
    }

    /// Returns whether a version is within the bounds.
    pub(super) fn allows(&self, version: &str) -> Option<bool> {
        let is_within = VersionNumbers::find(version).map(|version| self.bounds.contains(&version));
        is_within.or(self.bounds.0.is_empty().then_some(true))
    }

    /// Returns the last version where the fault was seen, if the text names one.
    pub(super) fn last_seen(&self) -> Option<VersionNumbers> {
        let versions = self.seen.iter().flat_map(|seen| &seen.versions);
        (!self.seen.is_empty()).then(|| versions.max().cloned().unwrap_or_default())
    }

    /// Narrows the bounds to the side of `passed` where the fault was seen. Bounds alone are left to older
    /// versions.
    pub(super) fn without(&self, passed: &BTreeSet<VersionNumbers>) -> Narrowed {
        if self.seen.is_empty() {
            let older = passed.first().and_then(|first| self.bounds.older_than(first));
            return older.map_or(Narrowed::Nowhere, |older| Narrowed::To(older.to_string()));
        }
        let versions = || self.seen.iter().flat_map(|seen| &seen.versions);
        let rest = || versions().filter(|seen| !passed.contains(seen));
        let Some((first, last)) = rest().min().zip(rest().max()) else {
            // `22.3.*` has versions that it does not spell.
            let has_others = self.seen.iter().any(|seen| seen.text.contains(".*"));
            return if has_others { Narrowed::Not } else { Narrowed::Nowhere };
        };
        let below = passed.iter().filter(|version| *version < first);
        let above = passed.iter().filter(|version| *version > last);
        if below.clone().count() + above.clone().count() < passed.len() {
            return Narrowed::Not;
        }
        let bounds = self.bounds.between(below.max(), above.min());
        let seen: String = self.seen.iter().map(|seen| format!("{}, ", seen.text)).collect();
        Narrowed::To(format!("{seen}{bounds}"))
    }
}

impl SeenAt {
    /// Parses a part of a version, a glob, or `=3.1`.
    fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('=') {
            let (pattern, versions) = (NamePattern::parse(text)?, VersionNumbers::all(text));
            let (text, versions) = (text.to_owned(), versions.collect());
            return Ok(Self { text, pattern: Some(pattern), versions });
        }
        let (equal, version) = comparison(text)?;
        Ok(Self { text: format!("{equal}{version}"), pattern: None, versions: vec![version] })
    }
}

impl Text for VersionPattern {
    const EXPECTED: &str =
        "a part of a version or a glob, a range such as \">=22.3, <23.0\", or several";

    fn parse(text: &str) -> Result<Self, String> {
        let (bounds, seen): (Vec<_>, Vec<_>) =
            parts(text).into_iter().partition(|part| part.contains(['<', '>']));
        let bounds = VersionRange::parse_parts(bounds.into_iter())?;
        let seen = seen.into_iter().map(SeenAt::parse).collect::<Result<_, _>>()?;
        Ok(Self { seen, bounds })
    }
}

/// Returns the parts between the commas that are not in braces.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_separator = |c: char| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(is_separator).map(str::trim).collect()
}

deserialize_from_text!(VersionRange, VersionPattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        for (pattern, version, expected) in [
            (">=22.3, <23.0", "22.3.6", Some(true)),
            (">=22.3, <23.0", "22.10", Some(true)),
            (">=22.3, <23.0", "22.2.9", Some(false)),
            (">=22.3, <23.0", "23.0", Some(false)),
            (">=22.3,<23", "22.3", Some(true)),
            (">22.3", "22.3.0", Some(false)),
            (">22.3", "22.3.1", Some(true)),
            ("<=22.3", "22.3.0", Some(true)),
            ("= 22.3", "22.3.0", Some(true)),
            ("=22.3", "22.3.1", Some(false)),
            ("<3.2", "3.1+debian", Some(true)),
            (">=21.10", "Oclgrind 21.10", Some(true)),
            (">=21.9", "Oclgrind 21.10", Some(true)),
            (">=2024.18.6.0.02_160000", "2024.18", None),
            (">=2024.18", "2024.18.6.0.02_160000", Some(true)),
            (">=535.104.5", "535.104.05", Some(true)),
            ("<1.2.3", "1.2.3-rc1", Some(false)),
            (">=1.0", "v1.2", Some(true)),
            (">=26", "r26p0-01eac0", None),
            (">=1", "", None),
            (">=1", "unknown", None),
            ("22.3.*", "22.3.6", Some(true)),
            ("22.3", "122.3", Some(true)),
            ("22.3.*", "unknown", Some(false)),
            ("{22,25}.*, <25.0", "22.3.6", Some(true)),
            ("{22,25}.*, <25.0", "25.0.7", Some(false)),
            ("{22,25}.*, <25.0", "24.1", Some(false)),
            ("=3.1, >3.0", "3.1+debian", Some(true)),
            ("3.0*, =5.0, <6", "5.0", Some(true)),
            ("3.0*, =5.0, <6", "3.0.1", Some(true)),
            ("3.0*, =5.0, <6", "5.1", Some(false)),
            ("3.0*, =5.0", "unknown", None),
        ] {
            let matches = VersionPattern::parse(pattern).ok().and_then(|p| p.matches(version));
            assert_eq!(matches, expected, "{pattern:?} on {version:?}");
        }
    }

    #[test]
    fn a_range_is_cut_below_a_version() {
        for (range, version, expected) in [
            (">=22.3, <23.0", "22.3.6", Some(">=22.3, <22.3.6")),
            (">22.3.5", "22.3.6", Some(">22.3.5, <22.3.6")),
            ("<23.0", "22.3.6", Some("<22.3.6")),
            (">=22.3.6, <23.0", "22.3.6", None),
            ("=22.3.6", "22.3.6", None),
        ] {
            let version = VersionNumbers::find(version).unwrap();
            let older = VersionRange::parse(range).unwrap().older_than(&version);
            assert_eq!(older.map(|older| older.to_string()).as_deref(), expected, "{range}");
        }
        let version = VersionNumbers::find("5.0+debian").unwrap();
        let all = VersionRange::default().older_than(&version);
        assert_eq!(all.unwrap().to_string(), "<5.0");
        assert_eq!(VersionRange::only(version).to_string(), "=5.0");
    }

    #[test]
    fn passes_narrow_the_versions() {
        let to = |text: &str| Narrowed::To(text.to_owned());
        for (pattern, passed, expected) in [
            ("3.1*", "3.1", Narrowed::Nowhere),
            ("{3.1,5.0}*", "3.1", to("{3.1,5.0}*, >3.1")),
            ("22.3.*", "22.3.0", Narrowed::Not),
            ("22.3.*", "22.3.6", to("22.3.*, <22.3.6")),
            ("<3.0", "2.0", to("<2.0")),
        ] {
            let passed = BTreeSet::from([VersionNumbers::find(passed).expect("a version")]);
            let narrowed = VersionPattern::parse(pattern).expect("a pattern").without(&passed);
            assert_eq!(narrowed, expected, "{pattern:?}");
        }
    }
}
