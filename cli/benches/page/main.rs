//! Time and size of a large page: `cargo xtask bench page`.
//!
//! Writes the page of a run of 50,000 tests on four devices that do not exist, and opens it in the browser that
//! the variable `CLMATRIX_BROWSER` names. The page measures itself. Each figure has a limit; a limit that is
//! missed makes the exit status 1.
//!
//! By the variable `CLMATRIX_BENCH` this executable is `clmatrix`.

#[path = "../common/figure.rs"]
mod figure;
mod large_log;
#[path = "../common/simulated_device.rs"]
mod simulated_device;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clmatrix_runner::target::Target;
use figure::Figure;

const TARGET: Target =
    Target { home: "page", package: "clmatrix-cli", version: "0", name: "page", config: None };

/// Makes a process of this executable `clmatrix`.
const ROLE: &str = "CLMATRIX_BENCH";

/// Names the browser.
const BROWSER: &str = "CLMATRIX_BROWSER";

/// The figures that the page measures, in milliseconds, and their limits.
const MEASURED: [(&str, &str, f64); 7] = [
    ("open_ms", "    until the page is laid out", 2000.0),
    ("text_filter_ms", "    filter by text", 100.0),
    ("verdict_filter_ms", "    filter by verdict", 100.0),
    ("no_filter_ms", "    no filter", 100.0),
    ("unfold_ms", "    unfold all suites", 100.0),
    ("scroll_ms", "    scroll to the middle", 100.0),
    ("result_ms", "    open a result", 100.0),
];

fn main() -> ExitCode {
    if std::env::var_os(ROLE).is_some() {
        return clmatrix_cli::main(TARGET);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = write_page(folder.path());
    let measured = measured(&page);
    let bytes = fs::metadata(&page).expect("the page is there").len();
    let mut figures = vec![Figure {
        what: "50,000 tests x 4 devices: size of the page",
        measured: bytes as f64 / 1e6,
        limit: 12.0,
        unit: "MB",
    }];
    figures.extend(MEASURED.map(|(name, what, limit)| {
        let measured = measured[name].as_f64().expect("the page measures all");
        Figure { what, measured, limit, unit: "ms" }
    }));
    figure::report(&figures)
}

/// Writes the page of the large run.
fn write_page(folder: &Path) -> std::path::PathBuf {
    let [log, page] = ["events.jsonl", "report.html"].map(|name| folder.join(name));
    large_log::write(&log).expect("the log can be written");
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.env(ROLE, "").args(["report", "--html"]).arg(&page).arg(log);
    let status = command.arg("--report-dir").arg(folder).status().expect("the process starts");
    assert!(status.success(), "{command:?}: {status}");
    page
}

/// Returns the figures that the page shows when its fragment asks for them.
fn measured(page: &Path) -> serde_json::Value {
    let browser = std::env::var_os(BROWSER);
    let browser = browser
        .unwrap_or_else(|| panic!("{BROWSER} names no browser: run `cargo xtask bench page`"));
    let mut command = Command::new(browser);
    command.args(["--no-sandbox", "--window-size=1600,1000", "--dump-dom"]);
    command.arg(format!("file://{}#measure", page.display()));
    let output = command.output().expect("the browser starts");
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, figures) = dom.split_once("<pre id=\"measured\">").expect("the page measures itself");
    let (figures, _) = figures.split_once("</pre>").expect("the element has an end");
    serde_json::from_str(figures).expect("the figures are JSON")
}
