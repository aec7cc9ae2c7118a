//! Text for people: the output of tests and drivers, made fit for XML and for terminals; numbers and durations in
//! words.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::Duration;

use regex::{Captures, Regex};

/// Escape sequences of terminals (ECMA-48): CSI (colours, cursor), OSC and similar ones (titles, links) with their
/// terminator, and the short ones. A sequence that is cut off loses only its first bytes, so that it does not swallow
/// the text after it.
static ESCAPE_SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    let csi = r"\[[0-?]*[ -/]*[@-~]";
    let osc = r"[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)";
    let short = r"[ -/]*[0-~]";
    Regex::new(&format!(r"\x1b(?:{csi}|{osc}|{short})")).expect("a constant")
});

/// Returns `text` without escape sequences, with `\n` for every line's end, and with U+FFFD for each character that
/// XML 1.0 cannot hold or that a terminal would act on.
pub fn clean(text: &str) -> String {
    // Nearly all texts are clean, and there may be a million.
    if text.chars().all(|c| clean_char(c) == c) {
        return text.to_owned();
    }
    let text = ESCAPE_SEQUENCE.replace_all(text, "").replace("\r\n", "\n");
    text.chars().map(clean_char).collect()
}

fn clean_char(c: char) -> char {
    match c {
        '\r' => '\n',
        '\t' | '\n' => c,
        '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// Returns `text` with escapes, as in Rust, for the characters that a terminal would act on: control characters
/// except the end of a line, the tab and those that are `kept`, and characters that change the direction of text.
pub fn escaped<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let acts = |c: char| {
        let directs = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (directs || c.is_control() && c != '\n' && c != '\t') && !kept.contains(&c)
    };
    if !text.contains(acts) {
        return text.into();
    }
    let escape = |c: char| if acts(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// Returns `text` with escapes, as in Rust, where a runner of GitHub Actions would take a line for a command: for a `::`
/// that only blanks stand before on its line, and for each `##[`.
pub fn without_commands(text: &str) -> Cow<'_, str> {
    static COMMAND: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?mR)^(?<blanks>\s*)::|##\[").expect("a constant"));
    COMMAND.replace_all(text, |found: &Captures<'_>| match found.name("blanks") {
        Some(blanks) => format!(r"{}\u{{3a}}:", blanks.as_str()),
        None => r"##\u{5b}".to_owned(),
    })
}

/// `text` on one line, as an attribute or a title needs it.
pub fn one_line(text: &str) -> String {
    // Nearly all names are such words.
    if text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.to_owned();
    }
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first line that is not blank.
pub fn first_line(text: &str) -> String {
    let text = clean(text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Returns the first quarter of `limit` bytes of a text and the last three quarters, with a line between them that
/// has the number of bytes left out; the whole text if it is no longer. `length` is the length of a character.
pub fn shortened(text: &str, limit: usize, length: impl Fn(char) -> usize) -> Cow<'_, str> {
    if text.chars().map(&length).sum::<usize>() <= limit {
        return text.into();
    }
    let fitting = |chars: &mut dyn Iterator<Item = char>, mut room: usize| {
        let fits = |c: &char| room.checked_sub(length(*c)).inspect(|left| room = *left).is_some();
        chars.take_while(fits).map(char::len_utf8).sum::<usize>()
    };
    let head = fitting(&mut text.chars(), limit / 4);
    let tail = text.len() - fitting(&mut text.chars().rev(), limit - limit / 4);
    format!("{}\n[... {} bytes cut ...]\n{}", &text[..head], tail - head, &text[tail..]).into()
}

/// Returns `word` quoted as one word of a shell. Characters that a line or a terminal would change become escapes in
/// `$'...'`, which bash, zsh, ksh and POSIX of 2024 support, but dash does not.
pub fn shell_quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:/@%+=".contains(c);
    let changes = |c: char| clean_char(c) != c || c != ' ' && c.is_whitespace();
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    if !word.contains(changes) {
        return format!("'{}'", word.replace('\'', r"'\''")).into();
    }
    let escape = |c: char| match c {
        '\t' => r"\t".to_owned(),
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if changes(c) => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", word.chars().map(escape).collect::<String>()).into()
}

/// Returns the glob that matches `text` alone.
pub fn exact_glob(text: &str) -> String {
    globset::escape(text).replace('\\', r"[\]")
}

/// Returns `2 tests`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns a size as `1.5 GiB` or `200.0 MiB`.
pub fn size(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    match bytes >> 30 {
        0 => format!("{mebibytes:.1} MiB"),
        _ => format!("{:.1} GiB", mebibytes / 1024.0),
    }
}

/// Returns a duration as `1.5 s`, `2 min 03 s` or `1 h 05 min`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn control_characters_are_removed() {
        let cases = [
            ("plain \t text\n\u{1f980} é ]]> <b>&amp;", "plain \t text\n\u{1f980} é ]]> <b>&amp;"),
            ("\x1b[1;31mred\x1b[0m \x1b[2Kline", "red line"),
            ("\x1b]0;title\x07x \x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "x link"),
            ("\x1b(Bx\x1b7y\x1bcz", "xyz"),
            ("cut \x1b]0;never ended\nnext", "cut 0;never ended\nnext"),
            ("cut \x1b[31", "cut 31"),
            ("cut \x1b", "cut \u{fffd}"),
            (
                "a\0b\x07c\x7fd\u{9b}e\u{fffe}f\u{ffff}",
                "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}f\u{fffd}",
            ),
            ("10%\r100%\r\ndone", "10%\n100%\ndone"),
            ("lossy \u{fffd}", "lossy \u{fffd}"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn characters_that_a_terminal_acts_on_are_escaped() {
        for (text, expected) in [
            ("é \u{1f980}\t<x>\n", "é \u{1f980}\t<x>\n"),
            ("\u{1b}[31mred\r\u{7}\u{9b}", r"\u{1b}[31mred\r\u{7}\u{9b}"),
            ("a\u{202e}b\u{2069}\u{200f}", r"a\u{202e}b\u{2069}\u{200f}"),
        ] {
            assert_eq!(escaped(text, &[]), expected);
        }
        assert_eq!(escaped("\u{1b}[1m\u{202e}", &['\u{1b}']), "\u{1b}[1m\\u{202e}");
    }

    #[test]
    fn no_line_is_a_command_of_github() {
        for (text, expected) in [
            ("s::t@d: a::b ## [c]", "s::t@d: a::b ## [c]"),
            ("a\n::error::b", "a\n\\u{3a}:error::b"),
            ("::::", r"\u{3a}:::"),
            ("\t \u{a0}::x::", "\t \u{a0}\\u{3a}:x::"),
            ("a\r::b::\r\n  ::c::", "a\r\\u{3a}:b::\r\n  \\u{3a}:c::"),
            ("a ##[error]b ##[c]", r"a ##\u{5b}error]b ##\u{5b}c]"),
            ("###[a]", r"###\u{5b}a]"),
        ] {
            assert_eq!(without_commands(text), expected);
        }
    }

    #[test]
    fn a_message_becomes_one_line_or_its_first() {
        assert_eq!(one_line(" a\n\tb\r\nc "), "a b c");
        assert_eq!(first_line("\n  \n  left: 1 \nright: 2"), "left: 1");
        assert_eq!(first_line(""), "");
    }

    #[test]
    fn a_long_text_keeps_both_ends() {
        let bytes = |text, limit| shortened(text, limit, char::len_utf8).into_owned();
        assert_eq!(bytes("whole", 5), "whole");
        assert_eq!(bytes("begin--the end", 8), "be\n[... 6 bytes cut ...]\nhe end");
        assert_eq!(bytes("éééé", 5), "\n[... 4 bytes cut ...]\néé");
        assert_eq!(bytes("gone", 0), "\n[... 4 bytes cut ...]\n");
        let escaped = |text| shortened(text, 8, |c| if c == '<' { 4 } else { 1 }).into_owned();
        assert_eq!(escaped("<<"), "<<");
        assert_eq!(escaped("ab<c<de"), "ab\n[... 2 bytes cut ...]\n<de");
    }

    #[test]
    fn a_size_has_one_decimal() {
        let sizes = [0, 1 << 19, (1 << 30) - 1, 3 << 29].map(size);
        assert_eq!(sizes, ["0.0 MiB", "0.5 MiB", "1024.0 MiB", "1.5 GiB"]);
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let cases = [
            ("pool::n_1@pocl-cpu", "pool::n_1@pocl-cpu"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's $x", r"'it'\''s $x'"),
            ("é*", "'é*'"),
            ("a\\ b", r"'a\ b'"),
            ("a\tb's \\", r"$'a\tb\'s \\'"),
            ("\u{2028}\u{a0}\u{1b}[0m", r"$'\342\200\250\302\240\033[0m'"),
        ];
        for (word, expected) in cases {
            assert_eq!(shell_quoted(word), expected);
            assert_eq!(one_line(&shell_quoted(word)), expected);
        }
    }

    #[test]
    fn a_shell_reads_a_quoted_word_as_it_was() {
        let words: Vec<String> = (1..=0x100)
            .chain([0x2028, 0x2029, 0x202e, 0x3000, 0xfffe, 0x1_f980])
            .filter_map(char::from_u32)
            .map(|c| format!("s::a{c}{c}1 'b' \\n $(c) {c}"))
            .collect();
        let quoted: Vec<_> = words.iter().map(|word| shell_quoted(word)).collect();
        let script = format!("printf '%s\\0' {}", quoted.join(" "));
        let output = Command::new("bash").args(["-c", &script]).output().expect("bash starts");
        let read = String::from_utf8(output.stdout).expect("UTF-8");
        assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), words);
    }

    #[test]
    fn an_exact_glob_matches_one_text() {
        for text in ["a", "a*b?", "[a]{b,c}", r"a\b*", r"\", "!a^-"] {
            let glob = globset::Glob::new(&exact_glob(text)).expect("a glob").compile_matcher();
            assert!(glob.is_match(text), "{text}");
            assert!(!glob.is_match("ab") && !glob.is_match("b"), "{text}");
        }
    }
}
