//! Code blocks of pages.

/// The code block of a page that begins with the line `first`, without that line.
pub fn block<'a>(page: &'a str, first: &str) -> &'a str {
    let (_, block) = page.split_once(&format!("{first}\n")).expect("the page has the block");
    block.split_once("```").expect("the block ends").0
}
