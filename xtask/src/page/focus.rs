//! The focus of the keyboard: the choice of a run, a panel that covers the table.

use anyhow::{Context, Result, ensure};

use super::browser::Browser;

/// The width at which the panel covers the rest of the page, in pixels.
const NARROW: u32 = 500;

/// The most presses of Tab that reach all of a panel.
const TABS: usize = 40;

/// Folds the suite of the last test that is only there, and opens a result of the test by its address.
const OPEN_LINK: &str = "new Promise((done) => {
    const has = (test) => run().devices.find((device) => device.letter(test) !== ' ');
    const test = paths.findLastIndex((_, test) => has(test) && !view.unexpected.includes(test));
    if (test < 0) return done(true);
    const row = SUITE * ROW_KIND + suiteOf[test];
    if (isOpen(row)) toggle(row);
    openPanel(test, has(test).id, false);
    const link = location.hash;
    closePanel();
    addEventListener('hashchange', () => done(document.querySelector('.chosen') !== null), { once: true });
    location.hash = link;
})";

/// Moves the focus by keys, and checks where it is.
pub fn check(browser: &mut Browser) -> Result<()> {
    ensure!(browser.evaluate(OPEN_LINK)? == true, "a linked result is not in view");
    browser.press("Escape")?;
    runs(browser)?;
    browser.evaluate("openPanel(-1, view.columns[0].id, true)")?;
    browser.press("Escape")?;
    let device = "document.querySelector('#columns button')";
    browser.evaluate(&format!("{device}.focus()"))?;
    browser.press("Enter")?;
    ensure!(browser.evaluate("panel.contains(document.activeElement)")? == true, "no device opens");
    // A panel of a result has links to other panels.
    browser.evaluate(
        "panel.querySelector('button').focus(); openPanel(-1, view.columns[0].id, true)",
    )?;
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
