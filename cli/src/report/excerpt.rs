//! The part of a long text that fits.

use unicode_width::UnicodeWidthStr;

use super::table::wrap;

/// Returns lines behind `indentation`, each with its newline.
pub(super) fn indented(lines: &[String], indentation: &str) -> String {
    let line = |line: &String| format!("{indentation}{line}").trim_end().to_owned() + "\n";
    lines.iter().map(line).collect()
}

/// Returns the beginning of a text, wrapped, in at most `limit` lines.
///
/// Long lines leave room for those that follow, so that both sides of an assertion are shown. `…` ends a line that is
/// cut.
pub(super) fn beginning(text: &str, limit: usize, width: usize) -> Vec<String> {
    let wrapped = paragraphs(text, width);
    let needed = |most: usize| wrapped.iter().map(|lines| lines.len().min(most)).sum::<usize>();
    let most = (1..=limit).rev().find(|most| needed(*most) <= limit).unwrap_or(1);
    let is_whole = wrapped.len() <= limit && wrapped.iter().all(|lines| lines.len() <= most);
    let mut lines = Vec::new();
    for mut paragraph in wrapped.into_iter().take(limit) {
        if paragraph.len() > most {
            paragraph.truncate(most);
            mark_cut(paragraph.last_mut(), width);
        }
        lines.append(&mut paragraph);
    }
    if !is_whole {
        mark_cut(lines.last_mut(), width);
    }
    lines
}

/// Returns the end of a text, wrapped, in at most `limit` lines, and whether it is the whole text.
pub(super) fn end(text: &str, limit: usize, width: usize) -> (Vec<String>, bool) {
    let mut lines: Vec<String> = paragraphs(text, width).into_iter().flatten().collect();
    let excess = lines.len().saturating_sub(limit);
    lines.drain(..excess);
    (lines, excess == 0)
}

/// Returns the lines of a text, each as the lines that it takes up, without blank ones at both ends.
fn paragraphs(text: &str, width: usize) -> Vec<Vec<String>> {
    let lines = text.trim_end().lines().skip_while(|line| line.trim().is_empty());
    lines.map(|line| wrapped(line, width)).collect()
}

/// Returns one line as lines of at most `width` columns, all indented as it is.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let line = line.replace('\t', "    ");
    let text = line.trim();
    if text.is_empty() {
        return vec![String::new()];
    }
    let indentation = (line.len() - line.trim_start().len()).min(width / 2);
    let blanks = " ".repeat(indentation);
    let text = wrap(text.split(' '), " ", width - indentation);
    text.lines().map(|line| format!("{blanks}{line}")).collect()
}

/// Ends a line with `…`, in place of its last words if it has no room.
fn mark_cut(line: Option<&mut String>, width: usize) {
    let Some(line) = line.filter(|line| !line.ends_with('…')) else { return };
    while line.width() + 2 > width {
        match line.trim_end().rfind(' ') {
            Some(at) => line.truncate(at),
            None => drop(line.pop()),
        }
    }
    line.push_str(" …");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_keeps_its_beginning() {
        let word = "/a".repeat(40);
        let excerpt = beginning(&format!("{word}: no such file\nmore"), 1, 20);
        assert!(excerpt[0].starts_with("/a/a/a") && excerpt[0].ends_with(" …"));
    }

    #[test]
    fn both_sides_of_an_assertion_are_shown() {
        let numbers = |word: &str| vec![word; 100].join(", ");
        let message = format!(
            "assertion `left == right` failed: the copy\n  left: [{}]\n right: [{}]",
            numbers("11"),
            numbers("22")
        );
        let excerpt = beginning(&message, 9, 40);
        insta::assert_snapshot!(indented(&excerpt, "| "));
    }

    #[test]
    fn short_texts_are_whole() {
        let excerpt = beginning("\n one\n\n\ttwo  three \n\n", 20, 40);
        assert_eq!(indented(&excerpt, "> "), ">  one\n>\n>     two  three\n");
        assert!(beginning("", 20, 40).is_empty());
        assert_eq!(end(" \n\n", 20, 40), (Vec::new(), true));
    }

    #[test]
    fn the_first_or_the_last_lines_of_many_are_shown() {
        let text: String = (0..100).map(|number| format!("{number}\n")).collect();
        assert_eq!(beginning(&text, 3, 40), ["0", "1", "2 …"]);
        assert_eq!(end(&text, 3, 40), (vec!["97".into(), "98".into(), "99".into()], false));
    }
}
