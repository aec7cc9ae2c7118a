//! The captured output of a test: its beginning and its end, and the number of bytes left out between.

/// The bytes kept from the beginning of a stream, and again from its end.
pub const KEPT_AT_EACH_END: usize = 256 * 1024;

/// The output of one test on one stream, of bounded size in memory.
#[derive(Clone, Default)]
pub struct Capture {
    head: Vec<u8>,
    /// The last bytes, up to twice the kept number, so that they are rarely moved.
    tail: Vec<u8>,
    cut: usize,
}

impl Capture {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = KEPT_AT_EACH_END - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * KEPT_AT_EACH_END {
            self.shorten_tail();
        }
    }

    fn shorten_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(KEPT_AT_EACH_END);
        self.tail.drain(..excess);
        self.cut += excess;
    }

    /// Takes the text, with U+FFFD for bytes that are not UTF-8 and a line that marks the cut. Leaves the capture
    /// empty.
    pub fn take_text(&mut self) -> String {
        self.shorten_tail();
        let Self { mut head, tail, cut } = std::mem::take(self);
        if cut > 0 {
            head.extend_from_slice(format!("\n[... {cut} bytes cut ...]\n").as_bytes());
        }
        head.extend_from_slice(&tail);
        String::from_utf8(head)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chunks: &[&[u8]]) -> String {
        let mut capture = Capture::default();
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.take_text()
    }

    #[test]
    fn short_output_is_kept_as_it_is() {
        assert_eq!(kept(&[]), "");
        assert_eq!(kept(&[b"one\n", b"two\n"]), "one\ntwo\n");
        let exactly = "x".repeat(2 * KEPT_AT_EACH_END);
        assert_eq!(kept(&[exactly.as_bytes()]), exactly);
    }

    #[test]
    fn long_output_keeps_both_ends_and_says_what_is_missing() {
        for size in [1, 1000, KEPT_AT_EACH_END, 5 * KEPT_AT_EACH_END] {
            let body = "m".repeat(3 * KEPT_AT_EACH_END);
            let whole = format!("begin{body}end");
            let chunks: Vec<&[u8]> = whole.as_bytes().chunks(size).collect();
            let text = kept(&chunks);
            assert!(text.starts_with("beginm"), "chunks of {size}");
            assert!(text.ends_with("mend"), "chunks of {size}");
            let cut = whole.len() - 2 * KEPT_AT_EACH_END;
            assert!(text.contains(&format!("[... {cut} bytes cut ...]")), "chunks of {size}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_become_replacement_characters() {
        assert_eq!(kept(&[b"a\xff\xfeb"]), "a\u{fffd}\u{fffd}b");
    }
}
