//! The keys of a profile about JUnit files.

use serde::{Deserialize, Serialize};

use super::choices::{JunitFlavor, JunitOutput};

/// The contents of JUnit files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JunitOptions {
    /// The results whose outputs are there.
    pub output: JunitOutput,
    /// The longest output or message, in bytes.
    pub output_limit: usize,
    /// The reader of the files.
    pub flavor: JunitFlavor,
}

impl Default for JunitOptions {
    fn default() -> Self {
        Self {
            output: JunitOutput::default(),
            output_limit: 64 << 10,
            flavor: JunitFlavor::default(),
        }
    }
}
