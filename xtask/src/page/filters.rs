//! The filters of the page, and the keys that step from one unexpected result to the next.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::browser::Browser;

/// The part of the table that is in the window.
const SHOWN: &str = "({
    count: byId('count').textContent,
    names: [...rowsBox.querySelectorAll('.row.test .name')].map((name) => name.title),
    signs: [...rowsBox.querySelectorAll('.row.test')]
        .map((row) => [...row.querySelectorAll('.sign')].map((sign) => sign.textContent)),
    columns: headRow.querySelectorAll('button').length,
})";

/// Uses each filter, and compares the table with the data.
pub fn check(browser: &mut Browser) -> Result<()> {
    verdicts(browser).context("the buttons of verdicts")?;
    devices(browser).context("the buttons of devices")?;
    text(browser).context("the field for text")
}

fn verdicts(browser: &mut Browser) -> Result<()> {
    let letters =
        "[...document.querySelectorAll('#verdicts .sign')].map((sign) => sign.textContent)";
    let letters: Vec<String> = serde_json::from_value(browser.evaluate(letters)?)?;
    ensure!(!letters.is_empty(), "there are none");
    for (at, letter) in letters.iter().enumerate() {
        let press = format!("document.querySelectorAll('#verdicts button')[{at}].click()");
        browser.evaluate(&press)?;
        let shown = browser.evaluate(SHOWN)?;
        let has = format!("run().devices.some((device) => device.letter(test) === '{letter}')");
        check_count(browser, &shown, &has)?;
        let has_letter =
            |row: &Value| row.as_array().is_some_and(|row| row.contains(&letter[..].into()));
        let rows = shown["signs"].as_array().context("rows")?;
        ensure!(!rows.is_empty() && rows.iter().all(has_letter), "{letter}: {shown}");
        browser.evaluate(&press)?;
        ensure!(browser.evaluate(SHOWN)?["count"] == "", "{letter} is still filtered");
    }
    Ok(())
}

fn devices(browser: &mut Browser) -> Result<()> {
    let all = browser.evaluate("run().devices.length")?;
    ensure!(browser.evaluate(SHOWN)?["columns"] == all, "each device has a column");
    let buttons = browser.evaluate("document.querySelectorAll('#devices button').length")?;
    for at in 0..buttons.as_u64().context("a number")? {
        let button = format!("document.querySelectorAll('#devices button')[{at}]");
        let id = browser.text(&format!("{button}.textContent"))?;
        browser.evaluate(&format!("{button}.click()"))?;
        let heads = browser.text("headRow.innerText")?;
        ensure!(!heads.lines().any(|line| line == id), "{id} is still in {heads}");
        browser.evaluate(&format!("{button}.click()"))?;
        ensure!(browser.evaluate(SHOWN)?["columns"] == all, "{id} is not there again");
    }
    Ok(())
}

/// The path of the last test with a result in this run.
const LAST: &str =
    "paths.findLast((_, test) => run().devices.some((device) => device.letter(test) !== ' '))";

/// The texts of a test: its path, and the messages of its results.
const TEXTS: &str = "run().devices.filter((device) => device.letter(test) !== ' ')
    .flatMap((device) => [paths[test], ...device.details(test)?.attempts.map(({ message }) => device.text(message)) ?? []])";

/// Types the path of a test. Escape leaves the field.
fn text(browser: &mut Browser) -> Result<()> {
    let path = browser.text(LAST)?;
    browser.press("/")?;
    ensure!(browser.text("document.activeElement.id")? == "text", "`/` does not reach the field");
    for character in path.chars() {
        browser.press(character.encode_utf8(&mut [0; 4]))?;
    }
    let shown = browser.evaluate(SHOWN)?;
    check_count(browser, &shown, &format!("{TEXTS}.some((text) => text.includes({path:?}))"))?;
    let names = shown["names"].as_array().context("names")?;
    ensure!(names.contains(&path[..].into()), "{path} is not among {names:?}");
    browser.press("Escape")?;
    ensure!(browser.text("document.activeElement.id")? == "grid", "Escape stays in the field");
    ensure!(browser.text("byId('text').value")? == path, "Escape empties the field");
    Ok(())
}

/// Checks that the page says how many tests are shown: those for which an expression about `test` holds.
fn check_count(browser: &mut Browser, shown: &Value, holds: &str) -> Result<()> {
    let expected = format!("paths.filter((_, test) => {holds}).length");
    let expected = browser.evaluate(&expected)?;
    let count = shown["count"].as_str().unwrap_or_default();
    ensure!(count.starts_with(&format!("{expected} of ")), "{holds}: {expected}, not {count:?}");
    Ok(())
}

/// Steps to each of these unexpected results and back. The last one stays open.
pub fn step(browser: &mut Browser, unexpected: u64) -> Result<()> {
    let mut opened: Vec<String> = Vec::new();
    for _ in 0..unexpected {
        browser.press("n")?;
        let title = browser.text("panel.hidden ? '' : panel.querySelector('h2').textContent")?;
        ensure!(title == browser.text("paths[state.test] ?? ''")?, "`n` shows {title:?}");
        opened.push(browser.text(OPEN)?);
    }
    let mut different = opened.clone();
    different.sort();
    different.dedup();
    ensure!(different.len() == opened.len(), "`n` shows a result twice: {opened:?}");
    for id in opened.iter().rev().skip(1) {
        browser.press("p")?;
        let found = browser.text(OPEN)?;
        ensure!(found == *id, "`p` shows {found}, not {id}");
    }
    Ok(())
}

/// The id of the result in the panel, if it is an unexpected one.
const OPEN: &str = "deviceOf(state.device)?.isUnexpected(state.test)
    ? `${paths[state.test]}@${state.device}` : 'no unexpected result'";
