//! Part 2: 10,000 tests on 64 devices of a stub driver, in worker processes.

use std::fs;
use std::path::Path;
use std::process::Command;

use clmatrix_cli::__private::stored_runs;

use crate::figure::Figure;
use crate::usage::Usage;
use crate::{COMMAND, TESTS, last_line, lines, process};

/// The devices of `stub_driver.c`.
const DEVICES: usize = 64;
const RESULTS: usize = DEVICES * TESTS;

/// The most CPU time of the runner per result, in microseconds.
const LIMIT: f64 = 40.0;
/// The most runs, while the limit is missed: other load on the machine makes CPU times longer, too.
const RUNS: usize = 3;

/// The figures of the run, whose reports are written below `folder`.
pub fn figures(folder: &Path) -> Vec<Figure> {
    let vendors = folder.join("vendors");
    install_driver(&vendors);
    let reports = folder.join("reports");
    // The configuration is the default one.
    let configuration = folder.join("clmatrix.toml");
    fs::write(&configuration, "").expect("the configuration can be written");
    let run = || {
        let mut runner = process(COMMAND, &["run", "--report-dir"], &reports);
        runner.env("OCL_ICD_VENDORS", &vendors).env("CLMATRIX_CONFIG", &configuration);
        for variable in ["OCL_ICD_FILENAMES", "CLMATRIX_TEST", "PYOPENCL_TEST", "CLMATRIX_PROFILE"]
        {
            runner.env_remove(variable);
        }
        last_line(runner).parse::<Usage>().expect("a usage")
    };
    let per_result = |usage: Usage| usage.cpu * 1e6 / RESULTS as f64;
    let mut runner = run();
    for _ in 1..RUNS {
        if per_result(runner) > LIMIT {
            let again = run();
            runner = if again.cpu < runner.cpu { again } else { runner };
        }
    }
    let mut figures = vec![
        Figure {
            what: "10,000 tests x 64 devices in workers: CPU time of the runner per result",
            measured: per_result(runner),
            limit: LIMIT,
            unit: "us",
        },
        Figure {
            what: "    memory of the runner",
            measured: runner.memory,
            limit: 500.0,
            unit: "MB",
        },
    ];
    let log = stored_runs::find(&reports, "latest").expect("the run is stored");
    figures.extend(lines(&log, RESULTS));
    figures
}

/// Compiles the stub driver, and writes its .icd file beside it.
fn install_driver(folder: &Path) {
    fs::create_dir_all(folder).expect("the folder can be created");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/matrix/stub_driver.c");
    let library = folder.join("libstub.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o"]).arg(&library).arg(source);
    let status = compiler.status().expect("a C compiler is there, as for every Rust program");
    assert!(status.success(), "{compiler:?}: {status}");
    let library = library.to_str().expect("a path in UTF-8");
    fs::write(folder.join("stub.icd"), library).expect("the .icd file can be written");
}
