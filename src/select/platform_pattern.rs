//! The name of a platform outside a selection, with the meaning that it has in one.

use std::str::FromStr;

use super::catalog::PlatformInfo;
use super::error::PatternError;
use super::selection::{Dialect, Matcher};

/// A name or pattern that matches the platforms that [`Selection::parse_clmatrix`] finds by it.
///
/// A name is a part of "name vendor" in any case; a pattern with `*`, `?` or `[...]` matches the
/// whole of the name, the vendor or "name vendor". `pocl` matches PoCL, whose platform is called
/// "Portable Computing Language" and whose vendor "The pocl project".
///
/// [`Selection::parse_clmatrix`]: super::Selection::parse_clmatrix
#[derive(Clone, Debug)]
pub struct PlatformPattern(Matcher);

impl PlatformPattern {
    /// Returns whether it matches a platform with this CL_PLATFORM_NAME and CL_PLATFORM_VENDOR.
    pub fn matches(&self, name: &str, vendor: &str) -> bool {
        let (name, vendor) = (name.to_owned(), vendor.to_owned());
        let platform = PlatformInfo { name, vendor, ..PlatformInfo::default() };
        !self.0.find(&[platform]).is_empty()
    }
}

impl FromStr for PlatformPattern {
    type Err = PatternError;

    /// Reads a name or a pattern.
    ///
    /// # Errors
    /// The reason, for an invalid pattern and for an index: the order of platforms differs from
    /// machine to machine.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        match Matcher::parse(text, Dialect::Clmatrix) {
            Ok(Matcher::Index(_)) => Err(PatternError::Index),
            Ok(matcher) => Ok(Self(matcher)),
            Err(reason) => Err(PatternError::Glob(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::{Selection, sample};

    #[test]
    fn a_pattern_matches_the_platforms_that_a_selection_finds() {
        for text in ["intel", "NVIDIA", "nvidia*", "*cuda*", "INTEL(R) corp*", "pocl", "radeon", ""]
        {
            let pattern = text.parse::<PlatformPattern>().unwrap();
            let selection = Selection::parse_clmatrix(&format!("{text}:*")).unwrap();
            for platform in sample::platforms().into_iter().filter(|p| !p.devices.is_empty()) {
                let is_selected = selection.resolve(std::slice::from_ref(&platform)).is_ok();
                let matches = pattern.matches(&platform.name, &platform.vendor);
                assert_eq!(matches, is_selected, "{text:?} on {platform:?}");
            }
        }
    }

    #[test]
    fn pocl_is_matched_by_its_vendor() {
        let pocl = ("Portable Computing Language", "The pocl project");
        for (text, expected) in
            [("pocl", true), ("PoCL", true), ("portable", true), ("*pocl*", true), ("pocl*", false)]
        {
            let pattern = text.parse::<PlatformPattern>().unwrap();
            assert_eq!(pattern.matches(pocl.0, pocl.1), expected, "{text:?}");
        }
    }

    #[test]
    fn an_index_is_refused() {
        for text in ["0", "-1", " 1 "] {
            assert!(
                text.parse::<PlatformPattern>().unwrap_err().to_string().contains("no index"),
                "{text:?}"
            );
        }
        assert!(
            "[".parse::<PlatformPattern>().unwrap_err().to_string().starts_with("invalid glob: ")
        );
    }
}
