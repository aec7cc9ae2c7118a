//! A size in a configuration file.

use super::text_value::{Text, deserialize_from_text};

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

deserialize_from_text!(Size);

#[cfg(test)]
mod tests {
    use super::*;

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
}
