//! The key `source-url` of a profile.

use super::text_value::{Text, deserialize_from_text};

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

deserialize_from_text!(SourceUrl);
