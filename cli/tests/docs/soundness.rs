//! The quirks that `docs/guide/soundness.md` names have rows in `docs/quirks.md`.

use super::quirks::rows;

const PAGE: &str = include_str!("../../../docs/guide/soundness.md");

/// The ids of quirks in a text, such as `POCL-1`.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| {
        word.split_once('-').is_some_and(|(driver, number)| {
            driver.len() > 3
                && driver.bytes().all(|byte| byte.is_ascii_uppercase())
                && number.parse::<u32>().is_ok()
        })
    })
}

#[test]
fn each_quirk_has_a_row() {
    let rows = rows(include_str!("../../../docs/quirks.md"));
    let is_missing = |id: &&str| rows.iter().all(|row| row.id != *id);
    assert!(ids(PAGE).count() > 10, "{} ids", ids(PAGE).count());
    let missing: Vec<_> = ids(PAGE).filter(is_missing).collect();
    assert!(missing.is_empty(), "no rows: {missing:?}");
}
