//! The colors of the page, light and dark, and the rules of axe-core for accessible pages.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::wheels::WheelSet;
use serde_json::Value;

use super::browser::Browser;
use crate::files::cannot;

/// A wheel with axe-core 4.12.1 in it. Nothing else of it is used.
const AXE: WheelSet = WheelSet {
    folder: "axe",
    title: "axe-core",
    pins: &[(
        "axe-playwright-python",
        "0.1.8",
        "fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8",
    )],
    options: &["--target"],
    size: "170 kB (600 kB on disk)",
    licence: "MPL-2.0",
};

/// Returns the script of axe-core, which is fetched into a folder if it is not there.
pub fn axe(folder: &Path) -> Result<String> {
    AXE.install(folder)?;
    let script = AXE.library(folder, "axe.min.js")?;
    fs::read_to_string(&script).with_context(|| cannot("read", &script))
}

/// Changes of the page: nothing, the first unexpected result if there is one, the first device.
const PARTS: [&str; 3] = ["0", "step(1)", "openPanel(-1, view.columns[0].id, true)"];

/// The violated rules with their elements. The rule for contrast must have found text.
const VIOLATIONS: &str = "axe.run().then(({ violations, passes }) => ({
    violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`),
    passed: passes.map(({ id }) => id),
}))";

/// The number of cells of suites that are too narrow for their counts.
const CUT_OFF: &str = "[...document.querySelectorAll('.row.suite .cell')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length";

/// The sum of the red, green and blue of the text, and of the ground.
const COLORS: &str =
    "['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name]
    .match(/\\d+/g).slice(0, 3).reduce((sum, value) => sum + Number(value), 0))";

/// Checks the colors and all rules, with the panel closed and open, in both color schemes.
pub fn check(browser: &mut Browser, axe: &str) -> Result<()> {
    // The content policy does not hold for scripts of the DevTools.
    browser.evaluate(&format!("{axe}; 0"))?;
    // The largest cell: each verdict, many times.
    browser.evaluate("view.counts.fill(88888); layOut()")?;
    ensure!(browser.evaluate(CUT_OFF)? == 0, "counts are cut off");
    browser.evaluate("refilter()")?;
    for scheme in ["light", "dark"] {
        browser.set_color_scheme(scheme)?;
        let [text, ground]: [u32; 2] = serde_json::from_value(browser.evaluate(COLORS)?)?;
        ensure!((text > ground) == (scheme == "dark"), "{scheme}: {text} on {ground}");
        for part in PARTS {
            browser.evaluate(part)?;
            let found = browser.evaluate(VIOLATIONS)?;
            let contrast = Value::from("color-contrast");
            let passed = found["passed"].as_array().context("the rules that hold")?;
            ensure!(passed.contains(&contrast), "{scheme}, {part}: no text was found");
            let violations = found["violations"].as_array().context("the violated rules")?;
            ensure!(violations.is_empty(), "{scheme}, {part}: {violations:#?}");
        }
        browser.evaluate("closePanel()")?;
    }
    Ok(())
}
