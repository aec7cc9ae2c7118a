//! Changes of single entries in the text of a file. All other bytes stay as they are: TOML's writers would
//! replace the ends of lines and the marks at the beginning of some files.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Deserialize;
use toml::Spanned;

/// An entry with the places of its header, `[[expect]]`, and of its values in a text.
type Entry = Spanned<BTreeMap<String, Spanned<toml::Value>>>;

#[derive(Deserialize)]
struct File {
    expect: Vec<Entry>,
}

/// Removes the entry that begins on a line (from 1), with the blank lines before it. A comment above it stays.
/// Returns `None` if there is no table `[[expect]]`.
pub(super) fn remove(text: &str, line: u64) -> Option<String> {
    let entry = find(text, line)?;
    let ends = entry.get_ref().values().map(|value| value.span().end);
    let mut after = &text[end_of_line(text, ends.max().unwrap_or(entry.span().end))..];
    let before = text[..entry.span().start].trim_end_matches([' ', '\t']);
    let before = &before[..end_of_line(before, before.trim_end().len())];
    if before.trim_start_matches('\u{feff}').is_empty() {
        let is_blank = |line: &&str| line.trim().is_empty();
        let blank = after.split_inclusive('\n').take_while(is_blank).map(str::len).sum();
        after = &after[blank..];
    }
    Some([before, after].concat())
}

/// Sets a key of the entry that begins on a line (from 1). A new key comes below the platform or the test.
/// Returns `None` if there is no table `[[expect]]`.
pub(super) fn set(text: &str, line: u64, key: &str, value: &str) -> Option<String> {
    let entry = find(text, line)?;
    let place = |key: &str| entry.get_ref().get(key).map(Spanned::span);
    if let Some(old) = place(key) {
        return Some([&text[..old.start], value, &text[old.end..]].concat());
    }
    let above = place("platform").or(place("test"))?;
    let line_start = text[..above.start].rfind('\n')? + 1;
    let indent = &text[line_start..];
    let indent = &indent[..indent.len() - indent.trim_start_matches([' ', '\t']).len()];
    let end = end_of_line(text, above.end);
    let new_line = line_end(text);
    let missing = if text[..end].ends_with('\n') { "" } else { new_line };
    let new = format!("{missing}{indent}{key} = {value}{new_line}");
    Some([&text[..end], &new, &text[end..]].concat())
}

/// Adds a table of a list at the end. Returns `None` if the text is then not TOML, as with an inline list of entries.
pub(super) fn append(text: &str, table: &str, keys: &[(&str, impl Display)]) -> Option<String> {
    let new_line = line_end(text);
    let missing = if text.is_empty() || text.ends_with('\n') { "" } else { new_line };
    let blank_line = if text.is_empty() { "" } else { new_line };
    let lines = keys.iter().map(|(key, value)| format!("{key} = {value}{new_line}"));
    let lines: String = lines.collect();
    let text = format!("{text}{missing}{blank_line}[[{table}]]{new_line}{lines}");
    toml::from_str::<toml::Table>(&text).is_ok().then_some(text)
}

fn find(text: &str, line: u64) -> Option<Entry> {
    let file: File = toml::from_str(text).ok()?;
    let line_of = |entry: &Entry| text[..entry.span().start].matches('\n').count() as u64 + 1;
    let entry = file.expect.into_iter().find(|entry| line_of(entry) == line)?;
    // An entry of an inline list begins with a brace.
    text[entry.span()].starts_with("[[").then_some(entry)
}

/// Returns the end of the line of a place, with its newline.
fn end_of_line(text: &str, place: usize) -> usize {
    text[place..].find('\n').map_or(text.len(), |newline| place + newline + 1)
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = "\u{feff}# top\r\n\r\n  [[ expect ]] # a\r\n  test   =  'a'   # b\r\n\
        status=[ 'fail', # c\r\n 'crash' ]  \r\n\r\n\r\n# about the second\r\n\r\n[[expect]]\r\n\
        \ttest='b'\r\n\tstatus   = \"fail\"\t# d\r\n\r\n# end";

    #[test]
    fn only_the_entry_changes() {
        let removed_first = ODD.replace(
            "\r\n  [[ expect ]] # a\r\n  test   =  'a'   # b\r\nstatus=[ 'fail', # c\r\n 'crash' ]  \r\n",
            "",
        );
        assert_eq!(remove(ODD, 3).unwrap(), removed_first);
        let removed_second =
            ODD.replace("\r\n[[expect]]\r\n\ttest='b'\r\n\tstatus   = \"fail\"\t# d\r\n", "");
        assert_eq!(remove(ODD, 11).unwrap(), removed_second);
        let changed = ODD.replace("[ 'fail', # c\r\n 'crash' ]", "\"flaky\"");
        assert_eq!(set(ODD, 3, "status", "\"flaky\"").unwrap(), changed);
        let inserted = ODD.replace("\ttest='b'\r\n", "\ttest='b'\r\n\tdriver-version = \"<3\"\r\n");
        assert_eq!(set(ODD, 11, "driver-version", "\"<3\"").unwrap(), inserted);
        let appended = format!("{ODD}\r\n\r\n[[expect]]\r\ntest = 'c'\r\n");
        assert_eq!(append(ODD, "expect", &[("test", "'c'".to_owned())]).unwrap(), appended);
    }

    #[test]
    fn the_first_and_the_only_entry_are_removed_whole() {
        let two = "[[expect]]\ntest = 'a'\n\n\n[[expect]]\ntest = 'b'";
        assert_eq!(remove(two, 1).unwrap(), "[[expect]]\ntest = 'b'");
        assert_eq!(remove(two, 5).unwrap(), "[[expect]]\ntest = 'a'\n");
        assert_eq!(remove("[[expect]]\ntest = 'a'\n", 1).unwrap(), "");
        assert_eq!(
            append("", "expect", &[("test", "'c'".to_owned())]).unwrap(),
            "[[expect]]\ntest = 'c'\n"
        );
        assert_eq!(
            set("[[expect]]\ntest = 'a'", 1, "id", "'d'").unwrap(),
            "[[expect]]\ntest = 'a'\nid = 'd'\n"
        );
    }

    #[test]
    fn an_inline_entry_is_not_changed() {
        let inline = "expect = [{ test = 'a' }]\n";
        assert_eq!(remove(inline, 1), None);
        assert_eq!(set(inline, 1, "id", "'d'"), None);
        assert_eq!(append(inline, "expect", &[("test", "'c'".to_owned())]), None);
    }
}
