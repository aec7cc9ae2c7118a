//! `cargo xtask test-page`: the page `report.html` in a browser.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::apt;
use crate::files::cannot;
use crate::process;
use crate::workspace::Workspace;

mod browser;
mod filters;
mod focus;
mod hostile;
mod looks;

use browser::Browser;

/// Debian's package of a browser without a window, and its program.
const PACKAGE: &str = "chromium-headless-shell";

/// The folder of stored logs, and of the texts of their pages.
const LOGS: &str = "cli/tests/logs";

/// The pages whose texts are compared: a name and the logs.
const PAGES: [(&str, &[&str]); 4] = [
    ("format-3", &["format-3"]),
    ("lost-device", &["lost-device"]),
    ("flaky", &["flaky"]),
    ("three-runs", &["history-1", "history-2", "history-3"]),
];

/// Installs the browser if it is missing. Returns its path.
pub fn install_browser() -> Result<PathBuf> {
    apt::install(&[PACKAGE])?;
    apt::file(PACKAGE, &format!("bin/{PACKAGE}"))
}

/// Compares the texts of pages, or with `update` writes them, opens every unexpected result by keys and every
/// device, uses the filters, checks the colors and what assistive programs see, and opens a page of a hostile
/// run and one with curves.
pub fn run(workspace: &Workspace, update: bool) -> Result<()> {
    let clmatrix = workspace.build_clmatrix()?;
    let folder = workspace.target.join("page");
    fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
    let axe = looks::axe(&folder)?;
    let test = PageTest { workspace, clmatrix, folder, browser: install_browser()?, axe };
    for (name, logs) in PAGES {
        test.stored_logs(name, logs, update).with_context(|| format!("the page of {name}"))?;
        println!("{name}: text, keys, filters, colors and names are right");
    }
    test.curves().context("the page with curves")?;
    println!("curves: drawn, light and dark");
    test.hostile_run().context("the page of a hostile run")?;
    println!("hostile run: all is text, and no request leaves");
    Ok(())
}

struct PageTest<'a> {
    workspace: &'a Workspace,
    clmatrix: PathBuf,
    /// The folder for pages.
    folder: PathBuf,
    browser: PathBuf,
    /// The script of axe-core.
    axe: String,
}

impl PageTest<'_> {
    /// The path of a stored file.
    fn stored(&self, file: &str) -> PathBuf {
        self.workspace.root.join(LOGS).join(file)
    }

    /// Writes a page with the characterization in a folder, if it has one.
    fn write_page(&self, name: &str, logs: &[PathBuf], folder: &Path) -> Result<PathBuf> {
        let page = self.folder.join(format!("{name}.html"));
        let mut report = Command::new(&self.clmatrix);
        report.args(["report", "--html"]).arg(&page).args(logs);
        report.arg("--report-dir").arg(folder);
        process::run(&mut report)?;
        Ok(page)
    }

    fn stored_logs(&self, name: &str, logs: &[&str], update: bool) -> Result<()> {
        let logs: Vec<_> = logs.iter().map(|log| self.stored(&format!("{log}.jsonl"))).collect();
        let page = self.write_page(name, &logs, &self.folder)?;
        let mut browser = Browser::start(&self.browser)?;
        let (requests, messages) = browser.open(&page, "")?;
        ensure!(requests.len() == 1 && messages.is_empty(), "{requests:?}, {messages:?}");
        check_names(&browser.accessible_nodes()?)?;
        let text = text_of(&mut browser)?;
        let unexpected = browser.evaluate(&format!("{UNEXPECTED}.length"))?;
        filters::step(&mut browser, unexpected.as_u64().context("a number")?)?;
        open_devices(&mut browser)?;
        browser.open(&page, "")?;
        filters::check(&mut browser)?;
        browser.open(&page, "")?;
        focus::check(&mut browser)?;
        browser.open(&page, "")?;
        looks::check(&mut browser, &self.axe)?;
        let (_, messages) = browser.open(&page, FILTERS)?;
        ensure!(messages.is_empty(), "{messages:?}");
        for button in ["#verdicts [aria-pressed=true]", "#devices [aria-pressed=false]"] {
            let count =
                browser.evaluate(&format!("document.querySelectorAll('{button}').length"))?;
            ensure!(count == 1, "the address has a filter without a button: {button}");
        }
        let file = self.stored(&format!("{name}.page.txt"));
        if update {
            fs::write(&file, &text).with_context(|| cannot("write", &file))?;
        }
        let expected = fs::read_to_string(&file).with_context(|| cannot("read", &file))?;
        let compared = self.folder.join(format!("{name}.page.txt"));
        fs::write(&compared, &text).with_context(|| cannot("write", &compared))?;
        ensure!(
            text == expected,
            "{} differs from {}; `cargo xtask test-page --update` accepts the new text",
            compared.display(),
            file.display()
        );
        Ok(())
    }

    fn hostile_run(&self) -> Result<()> {
        let source = self.stored("format-3.jsonl");
        let log = self.folder.join("hostile.jsonl");
        let text = fs::read_to_string(&source).with_context(|| cannot("read", &source))?;
        fs::write(&log, hostile::log(&text)?).with_context(|| cannot("write", &log))?;
        let page = self.write_page("hostile", &[log], &self.folder)?;
        let mut browser = Browser::start(&self.browser)?;
        let (requests, messages) = browser.open(&page, "")?;
        let url = format!("file://{}", page.display());
        ensure!(requests == [url], "the page makes requests: {requests:?}");
        ensure!(messages.is_empty(), "the browser complains: {messages:?}");
        let texts = open_unexpected(&mut browser)?;
        let ran =
            browser.evaluate("window.hostile === undefined && document.images.length === 0")?;
        ensure!(ran == true, "the page ran a script of its data, or has an image of it");
        let shown = |text: &str| texts.iter().any(|(_, shown)| shown.contains(text));
        for text in hostile::TEXTS {
            ensure!(shown(text), "{text:?} is not shown in {texts:?}");
        }
        check_names(&browser.accessible_nodes()?)?;
        // The address of a result opens it again, and its command names it in a shell.
        browser.evaluate("step(1)")?;
        let fragment = browser.text("location.hash")?;
        browser.open(&page, &fragment)?;
        let id = browser.text("`${panel.querySelector('h2').textContent}@${state.device}`")?;
        ensure!(texts.iter().any(|(opened, _)| *opened == id), "{fragment} opens {id:?}");
        let command = browser.text("byId('rerun').textContent")?;
        let word = last_word(&command)?;
        ensure!(without_escapes(&word) == id, "{command} runs {word}");
        Ok(())
    }

    /// Opens a page with a stored characterization of its device.
    fn curves(&self) -> Result<()> {
        let folder = self.stored("");
        let page = self.write_page("curves", &[self.stored("format-3.jsonl")], &folder)?;
        let mut browser = Browser::start(&self.browser)?;
        let (requests, messages) = browser.open(&page, "")?;
        ensure!(requests.len() == 1 && messages.is_empty(), "{requests:?}, {messages:?}");
        open_devices(&mut browser)?;
        let drawn = "[...panel.querySelectorAll('.curve polyline')].some((line) => {
            const { width, height } = line.getBoundingClientRect();
            return width > 100 && height > 0;
        })";
        ensure!(browser.evaluate(drawn)? == true, "no curve is drawn");
        looks::check(&mut browser, &self.axe)
    }
}

/// Returns the last word that a shell takes a command for. `$'...'` needs bash.
fn last_word(command: &str) -> Result<String> {
    let script = format!("set -- {command}\nshift $(($# - 1))\nprintf %s \"$1\"");
    let output = process::output(Command::new("bash").args(["-c", &script]))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the only id that a glob matches: each of its special characters is a class of its own.
fn without_escapes(glob: &str) -> String {
    let special = ["*", "?", "[", "]", "{", "}", "\\"];
    special.iter().fold(glob.to_owned(), |id, special| id.replace(&format!("[{special}]"), special))
}

/// Returns the text of a page and of each of its unexpected results, which are opened by keys.
fn text_of(browser: &mut Browser) -> Result<String> {
    let mut text = browser.text("document.body.innerText")?;
    for (id, panel) in open_unexpected(browser)? {
        text += &format!("\n\n==> {id}\n{panel}");
    }
    let lines = text.lines().map(str::trim_end);
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}

/// Filters of an address: a verdict that no page has, and a device that all have.
const FILTERS: &str = "#verdict=U&without=pocl-cpu";

/// Opens each device by its button.
fn open_devices(browser: &mut Browser) -> Result<()> {
    let count = browser.evaluate("view.columns.length")?.as_u64().context("a number")?;
    for column in 0..count {
        browser.evaluate(&format!("headRow.querySelectorAll('button')[{column}].click()"))?;
        let panel = browser.text("panel.hidden ? '' : panel.innerText")?;
        let id = browser.text(&format!("view.columns[{column}].id"))?;
        ensure!(panel.starts_with(&id), "the panel of {id}: {panel}");
    }
    Ok(())
}

/// The ids of the unexpected results that the page must show.
const UNEXPECTED: &str = "view.columns.flatMap((device) => device.results.details
    .filter(({ test }) => device.isUnexpected(test)).map(({ test }) => `${paths[test]}@${device.id}`))";

/// Walks over the table by keys alone, opens each unexpected result and closes it again. Returns the ids with
/// the texts of the panel.
fn open_unexpected(browser: &mut Browser) -> Result<Vec<(String, String)>> {
    let focused = "document.activeElement.id";
    for _ in 0..100 {
        if browser.text(focused)? == "grid" {
            break;
        }
        browser.press("Tab")?;
    }
    ensure!(browser.text(focused)? == "grid", "Tab does not reach the table");
    let unexpected: BTreeSet<String> = serde_json::from_value(browser.evaluate(UNEXPECTED)?)?;
    let mut opened = Vec::new();
    // The first row has the unexpected results; below it are their tests.
    let rows = browser.evaluate("view.unexpected.length")?.as_u64().context("a number")?;
    let columns = browser.evaluate("view.columns.length")?.as_u64().context("a number")?;
    for _ in 0..rows {
        browser.press("ArrowDown")?;
        for _ in 0..columns {
            browser.press("ArrowRight")?;
            let selected = "document.getElementById(grid.getAttribute('aria-activedescendant'))\
                .querySelector('.sign')?.textContent ?? ''";
            let sign = browser.text(selected)?;
            if sign.is_empty() || ".xsiN".contains(&sign) {
                continue;
            }
            browser.press("Enter")?;
            ensure!(browser.text(focused)? == "panel", "Enter does not open the result");
            let id = browser.text("`${paths[state.test]}@${state.device}`")?;
            opened.push((id, browser.text("panel.innerText")?));
            browser.press("Escape")?;
            let closed = browser.evaluate("panel.hidden && document.activeElement === grid")?;
            ensure!(closed == true, "Escape does not close the result");
        }
        for _ in 0..columns {
            browser.press("ArrowLeft")?;
        }
    }
    let ids: BTreeSet<_> = opened.iter().map(|(id, _)| id.clone()).collect();
    ensure!(ids == unexpected, "keys open {ids:?}, but the page has {unexpected:?}");
    Ok(opened)
}

/// Checks that assistive programs see a table with rows and cells, and a name of each part that has a use.
fn check_names(nodes: &[Value]) -> Result<()> {
    /// Roles whose nodes need a name.
    const NAMED: [&str; 13] = [
        "button",
        "searchbox",
        "combobox",
        "treegrid",
        "region",
        "group",
        "search",
        "columnheader",
        "rowheader",
        "gridcell",
        "list",
        "img",
        "heading",
    ];
    let value =
        |node: &Value, field: &str| node[field]["value"].as_str().unwrap_or_default().to_owned();
    let seen: Vec<_> = nodes.iter().filter(|node| node["ignored"] != true).collect();
    let roles: BTreeSet<_> = seen.iter().map(|node| value(node, "role")).collect();
    for role in ["treegrid", "row", "columnheader", "rowheader", "gridcell", "searchbox", "heading"]
    {
        ensure!(roles.contains(role), "there is no {role} among {roles:?}");
    }
    for node in seen {
        let (role, name) = (value(node, "role"), value(node, "name"));
        let is_focusable = |property: &Value| property["name"] == "focusable";
        let properties = node["properties"].as_array();
        let is_focusable = properties.is_some_and(|all| all.iter().any(is_focusable));
        let is_document = role == "RootWebArea";
        let needs_name = NAMED.contains(&role.as_str()) || is_focusable && !is_document;
        ensure!(!needs_name || !name.trim().is_empty(), "a {role} has no name: {node}");
    }
    Ok(())
}
