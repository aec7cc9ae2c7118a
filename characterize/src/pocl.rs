//! PoCL's version.

use super::facts::Facts;
use super::warning::{CharacterizationWarning, Characterized};
use clmatrix::select::Version;

impl Facts {
    /// Returns the version of PoCL; `None` for other platforms (PyOpenCL's `get_pocl_version`).
    ///
    /// A platform with the name of PoCL and another form of version string gets `fallback`,
    /// with a warning.
    pub fn pocl_version(&self, fallback: Option<Version>) -> Characterized<Option<Version>> {
        if !self.is_pocl() {
            return Characterized::known(None);
        }
        match parse(&self.platform_version) {
            Some(version) => Characterized::known(Some(version)),
            None => {
                let platform_version = self.platform_version.clone();
                let warning = CharacterizationWarning::UnknownPoclVersion { platform_version };
                Characterized::guessed(fallback, warning)
            }
        }
    }

    pub(super) fn is_pocl(&self) -> bool {
        self.platform_name == "Portable Computing Language"
    }
}

/// `OpenCL 3.0 PoCL 3.1+debian ...`; old versions write `pocl`.
fn parse(platform_version: &str) -> Option<Version> {
    let (opencl, rest) = platform_version.strip_prefix("OpenCL ")?.split_once(' ')?;
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if opencl.is_empty() || !opencl.chars().all(is_number) {
        return None;
    }
    let (name, version) = rest.split_once(' ')?;
    // PyOpenCL accepts only `p`, `c` and `l` in either case.
    if !name.eq_ignore_ascii_case("pocl") || name.as_bytes()[1] != b'o' {
        return None;
    }
    let (major, rest) = leading_number(version)?;
    let (minor, _) = leading_number(rest.strip_prefix('.')?)?;
    Some(Version { major, minor })
}

fn leading_number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_times_are_read() {
        for (text, expected) in [
            ("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts", Some((3, 1))),
            ("OpenCL 1.2 pocl 1.1 Debug+Asserts", Some((1, 1))),
            ("OpenCL 1.2 pocl 0.14", Some((0, 14))),
            ("OpenCL 3.0 PoCL 10.20-pre", Some((10, 20))),
            ("OpenCL 3.0 PoCL 3", None),
            ("OpenCL 3.0 PoCL 3.", None),
            ("OpenCL 3.0 PoCL HSTR: pthread", None),
            ("OpenCL x PoCL 3.1", None),
            ("OpenCL  PoCL 3.1", None),
            ("OpenCL 3.0 POCL 3.1", None),
            ("PoCL 3.1", None),
            ("", None),
        ] {
            let expected = expected.map(|(major, minor)| Version { major, minor });
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
