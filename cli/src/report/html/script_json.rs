//! JSON in a `script` element.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// `<`, which could end the element or begin a comment, and the ends of lines of Unicode.
const SPECIAL: [char; 3] = ['<', '\u{2028}', '\u{2029}'];

/// Escapes the characters of [`SPECIAL`].
struct ScriptFormatter;

impl Formatter for ScriptFormatter {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for part in fragment.split_inclusive(SPECIAL) {
            let text = part.trim_end_matches(SPECIAL);
            writer.write_all(text.as_bytes())?;
            for unit in part[text.len()..].encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

/// Writes an element with this id.
pub(super) fn write(to: &mut impl Write, id: &str, data: &impl Serialize) -> io::Result<()> {
    write!(to, "<script type=\"application/json\" id=\"{id}\">")?;
    data.serialize(&mut Serializer::with_formatter(&mut *to, ScriptFormatter))?;
    to.write_all(b"</script>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element() {
        let text = "a</script><!-- ]]> \u{2028}\u{2029}\" \\ \u{1f4a5}";
        let mut element = Vec::new();
        write(&mut element, "x", &[text]).unwrap();
        let element = String::from_utf8(element).unwrap();
        let json = element.strip_prefix("<script type=\"application/json\" id=\"x\">").unwrap();
        let json = json.strip_suffix("</script>\n").unwrap();
        assert!(!json.contains(['<', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<[String; 1]>(json).unwrap(), [text]);
    }
}
