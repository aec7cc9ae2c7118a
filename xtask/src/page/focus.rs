//! The focus of the keyboard: the choice of a run, a panel that covers the table.

use anyhow::{Context, Result, ensure};

use super::browser::Browser;

/// The width at which the panel covers the rest of the page, in pixels.
const NARROW: u32 = 500;

/// The most presses of Tab that reach all of a panel.
const TABS: usize = 40;

/// Moves the focus by keys, and checks where it is.
pub fn check(browser: &mut Browser) -> Result<()> {
    runs(browser)?;
    browser.evaluate("openPanel(-1, view.columns[0].id, true)")?;
    browser.press("Escape")?;
    let device = "document.querySelector('#columns button')";
    browser.evaluate(&format!("{device}.focus()"))?;
    browser.press("Enter")?;
    ensure!(browser.evaluate("panel.contains(document.activeElement)")? == true, "no device opens");
    browser.press("Escape")?;
    let is_back = browser.evaluate(&format!("document.activeElement === {device}"))?;
    ensure!(is_back == true, "Escape does not return to the button");
    browser.set_width(Some(NARROW))?;
    browser.press("Enter")?;
    for _ in 0..TABS {
        browser.press("Tab")?;
        let is_seen =
            "document.activeElement === document.body || panel.contains(document.activeElement)";
        ensure!(browser.evaluate(is_seen)? == true, "the focus is behind the panel");
    }
    browser.press("Escape")?;
    let is_back = browser.evaluate(&format!("document.activeElement === {device}"))?;
    ensure!(is_back == true, "Escape does not uncover the table");
    browser.set_width(None)
}

/// Chooses another run by keys, twice if there are three.
fn runs(browser: &mut Browser) -> Result<()> {
    let count = browser.evaluate("runs.length")?.as_u64().context("a number")?;
    if count == 1 {
        return Ok(());
    }
    browser.evaluate("document.querySelector('#about select').focus()")?;
    let last = count - 1;
    let (key, expected) = match browser.evaluate("state.run === runs[0].number")? == true {
        true => ("ArrowDown", format!("runs[{last}].number")),
        false => ("ArrowUp", "runs[0].number".to_owned()),
    };
    for _ in 0..last {
        browser.press(key)?;
        let list = browser.evaluate("document.activeElement.matches('#about select')")?;
        ensure!(list == true, "the list of runs loses the focus");
    }
    ensure!(
        browser.evaluate(&format!("state.run === {expected}"))? == true,
        "another run is shown"
    );
    Ok(())
}
