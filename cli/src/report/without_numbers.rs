//! Texts without the parts that differ from run to run.

use std::sync::LazyLock;

use regex::Regex;

/// Addresses, sizes and seeds differ from run to run.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"0x[0-9a-fA-F]+|[0-9]+").expect("a constant"));

/// Returns a text in which each number is `#`.
pub(crate) fn without_numbers(text: &str) -> String {
    NUMBER.replace_all(text, "#").into_owned()
}
