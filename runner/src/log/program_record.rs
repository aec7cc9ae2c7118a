//! A program with tests, in the header of a run.

use serde::{Deserialize, Serialize};

/// A program with tests, in the header of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramRecord {
    /// The suite and the program: the beginning of the paths of its tests.
    pub name: String,
    /// The file.
    pub file: String,
    /// The build id in hexadecimal digits, or else the size and the time of the last change.
    pub build: String,
}

/// The text between the size and the time in the build of a program without a build id.
pub const THEN_TIME: &str = " bytes, ";

impl ProgramRecord {
    /// Returns the build without the time of the last change, which differs between equal files.
    pub fn content(&self) -> &str {
        self.build.split_once(THEN_TIME).map_or(&self.build, |(size, _)| size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_have_the_same_content() {
        let content = |build: &str| {
            let [name, file] = ["s::p", "/p"].map(str::to_owned);
            ProgramRecord { name, file, build: build.to_owned() }.content().to_owned()
        };
        assert_eq!(content("12 bytes, 1.000000002"), content("12 bytes, 3.000000004"));
        assert_ne!(content("12 bytes, 1.000000002"), content("13 bytes, 1.000000002"));
        assert_eq!(content("00ff"), "00ff");
    }
}
