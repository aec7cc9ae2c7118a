//! The tests that the command line selects.

use globset::{GlobBuilder, GlobMatcher};

/// Accepts the ids that match one of its patterns, or all ids where it has none.
pub struct Filter {
    patterns: Vec<Pattern>,
}

enum Pattern {
    Part(String),
    /// A whole id; an empty device matches every device.
    Id {
        test: String,
        device: String,
    },
    Glob {
        id: GlobMatcher,
        /// The part before the device.
        test: GlobMatcher,
    },
}

impl Filter {
    pub fn new(patterns: &[String]) -> Result<Self, globset::Error> {
        let patterns = patterns.iter().map(|text| Pattern::new(text)).collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    pub fn accepts(&self, id: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(id))
    }

    /// Accepts `suite::test::case` by the patterns without their devices.
    pub fn accepts_test(&self, path: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches_test(path))
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Self, globset::Error> {
        if text.contains(['*', '?', '[']) {
            let glob = |text| GlobBuilder::new(text).build().map(|glob| glob.compile_matcher());
            let (test, _) = text.rsplit_once('@').unwrap_or((text, ""));
            Ok(Self::Glob { id: glob(text)?, test: glob(test)? })
        } else if let Some((test, device)) = text.rsplit_once('@') {
            Ok(Self::Id { test: test.to_owned(), device: device.to_owned() })
        } else {
            Ok(Self::Part(text.to_owned()))
        }
    }

    fn matches(&self, id: &str) -> bool {
        match self {
            Self::Part(part) => id.contains(part.as_str()),
            Self::Id { test, device } => {
                id.rsplit_once('@').is_some_and(|(its_test, its_device)| {
                    its_test == test && (device.is_empty() || its_device == device)
                })
            }
            Self::Glob { id: glob, .. } => glob.is_match(id),
        }
    }

    fn matches_test(&self, path: &str) -> bool {
        match self {
            Self::Part(part) => path.contains(part.as_str()),
            Self::Id { test, .. } => test == path,
            Self::Glob { test, .. } => test.is_match(path),
        }
    }
}
