//! Text in Markdown.

use std::fmt::Write as _;

/// Returns `text` on one line, with all characters escaped that have a meaning in Markdown or HTML. Characters that
/// would change the direction of the text behind them, or break its line, are shown by their numbers.
///
/// Characters are written as references, since a backslash would be shown in HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        if matches!(c, '\n' | '\r') {
            escaped.push(' ');
        } else if has_meaning(before, c, after) {
            let _ = write!(escaped, "&#{};", u32::from(c));
        } else if changes_layout(c) {
            escaped.extend(c.escape_unicode());
        } else {
            escaped.push(c);
        }
        before = c;
    }
    escaped
}

/// Returns `text` escaped, as code if GitHub would replace a part of it: `:name:` by a picture, `@name` and `#1`
/// by a link.
pub fn verbatim(text: &str) -> String {
    match text.contains(['@', '#']) || text.matches(':').count() > 1 {
        true => code(text),
        false => escaped(text),
    }
}

/// Returns `text` as code within a line.
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}

/// Returns `text` as a block of code that no line of the text can end.
pub fn block(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Returns whether a character between two others has a meaning in Markdown, with the extensions of GitHub.
fn has_meaning(before: char, c: char, after: char) -> bool {
    match c {
        '&' | '<' | '>' | '\\' | '`' | '*' | '~' | '|' | '$' => true,
        '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
        // Links need it: `[text](address)`, `[text][name]`, `[name]: address`.
        ']' => matches!(after, '(' | '[' | ':'),
        ':' => after == '/',
        _ => false,
    }
}

fn changes_layout(c: char) -> bool {
    let is_of_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    is_of_direction || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_has_a_meaning() {
        let cases = [
            ("max_work_group_size = 2 [1]", "max_work_group_size = 2 [1]"),
            ("_a_ *b* ~~c~~ $d$", "&#95;a&#95; &#42;b&#42; &#126;&#126;c&#126;&#126; &#36;d&#36;"),
            ("`x` \\ | y\nz", "&#96;x&#96; &#92; &#124; y z"),
            ("</details><img onerror=x>", "&#60;/details&#62;&#60;img onerror=x&#62;"),
            ("a &lt; b", "a &#38;lt; b"),
            ("![a](b) [c][d] [e]: f", "![a&#93;(b) [c&#93;[d] [e&#93;: f"),
            ("https://a.b", "https&#58;//a.b"),
            ("a\u{2028}b\u{202e}c", "a\\u{2028}b\\u{202e}c"),
            ("שלום 日本 🦀", "שלום 日本 🦀"),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }

    #[test]
    fn text_that_github_replaces_is_code() {
        let cases = [
            ("s::bug::t", "<code>s::bug::t</code>"),
            ("s:bug:t", "<code>s:bug:t</code>"),
            ("@name", "<code>@name</code>"),
            ("#1", "<code>#1</code>"),
            ("A: B", "A: B"),
        ];
        for (text, expected) in cases {
            assert_eq!(verbatim(text), expected);
        }
    }

    #[test]
    fn no_line_ends_a_block() {
        assert_eq!(block("text", "a\n\n"), "```text\na\n```\n");
        assert_eq!(block("", "a\n````\n</details>"), "`````\na\n````\n</details>\n`````\n");
    }
}
