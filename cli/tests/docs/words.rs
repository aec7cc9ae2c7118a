//! The pages are short enough to be read to their ends.

use std::fs;

use super::{files, root};

/// Pages, or folders of pages, and the most words that each has in all. A word is a text between blanks.
const LIMITS: [(&str, usize); 4] = [
    ("docs/guide", 9000),
    ("docs/performance.md", 1800),
    ("ARCHITECTURE.md", 1500),
    ("docs/log.md", 900),
];

#[test]
fn the_pages_are_short() {
    let mut long = Vec::new();
    for (place, limit) in LIMITS {
        let path = root().join(place);
        let pages = if path.is_dir() { files(&path, &["md"]) } else { vec![path] };
        let mut sum = 0;
        for page in pages {
            let words =
                fs::read_to_string(&page).expect("the page exists").split_whitespace().count();
            println!("{words:6}  {}", page.display());
            sum += words;
        }
        println!("{sum:6}  {place}, limit {limit}");
        if sum > limit {
            long.push(format!("{place} has {sum} words, and its limit is {limit}"));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}
