//! Code that must not compile: each file of a folder has `//~ TEXT` on the lines at which the compiler must find an
//! error with that code or with that in its message, and nothing else may be wrong with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Lines with their errors: in files the text behind `//~ `, of the compiler the code and the message.
type Errors = Vec<(u64, String)>;

/// The sources of a package whose targets must not compile.
pub struct Sources<'a> {
    /// The name of the package.
    pub package: &'a str,
    /// The files, one target each.
    pub folder: &'a Path,
    /// `bin`, or `test` for targets with libtest.
    pub kind: &'a str,
    /// The lines below `[dependencies]`.
    pub dependencies: &'a str,
    /// The versions of the dependencies.
    pub lock_file: &'a Path,
}

impl Sources<'_> {
    /// Compiles the files, and panics unless the compiler finds the errors of each and no others.
    pub fn check(&self) {
        let paths = self.paths();
        let package = self.write_package(&paths);
        let found = self.compile(&package);
        assert!(!paths.is_empty());
        for path in &paths {
            let expected = expected(&read(path));
            assert!(!expected.is_empty(), "{}", path.display());
            let found = found.get(&name(path)).map_or(&[][..], Vec::as_slice);
            let are_equal = found.len() == expected.len()
                && found.iter().zip(&expected).all(|(found, expected)| {
                    found.0 == expected.0 && found.1.contains(&expected.1)
                });
            let path = path.display();
            assert!(are_equal, "{path}:\nfound: {found:#?}\nexpected: {expected:#?}");
        }
    }

    fn paths(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder).expect("a folder of sources");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    }

    /// Writes a package that makes a target of each source.
    fn write_package(&self, paths: &[PathBuf]) -> PathBuf {
        let Self { package: package_name, kind, dependencies, .. } = self;
        let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join(package_name);
        fs::create_dir_all(&package).expect("a folder for the package");
        let mut manifest = format!(
            "[package]\nname = \"{package_name}\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\n{dependencies}\n[lib]\npath = \"lib.rs\"\n"
        );
        for path in paths {
            manifest += &format!("\n[[{kind}]]\nname = {:?}\npath = {path:?}\n", name(path));
        }
        fs::write(package.join("Cargo.toml"), manifest).expect("a manifest");
        fs::write(package.join("lib.rs"), "").expect("a library");
        fs::copy(self.lock_file, package.join("Cargo.lock")).expect("a lock file");
        package
    }

    /// Returns the errors of the compiler in each target of the package.
    fn compile(&self, package: &Path) -> BTreeMap<String, Errors> {
        // Into the same folder as the workspace, without debug info like it, and not with `check`: most
        // dependencies are there already.
        let target =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
        let output = Command::new(env!("CARGO"))
            .args(["build", &format!("--{}s", self.kind), "--offline", "--keep-going"])
            .args(["--message-format=json", "--target-dir"])
            .arg(target)
            .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")])
            .current_dir(package)
            .output()
            .expect("cargo runs");
        let log = String::from_utf8_lossy(&output.stderr);
        let mut errors = BTreeMap::<String, Errors>::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).expect("JSON");
            let diagnostic = &message["message"];
            if diagnostic["level"] != "error" {
                continue;
            }
            let spans = diagnostic["spans"].as_array().expect("where it is");
            // The last error of a file has no place: it counts the others.
            let Some(mut place) = spans.iter().find(|span| span["is_primary"] == true) else {
                continue;
            };
            let target = &message["target"];
            // An error in a macro is expected where the source calls the macro.
            while place["file_name"] != target["src_path"] && place["expansion"].is_object() {
                place = &place["expansion"]["span"];
            }
            assert_eq!(target["kind"][0], self.kind, "{log}");
            let target = target["name"].as_str().expect("a target's name");
            let line = place["line_start"].as_u64().expect("a line");
            let code = diagnostic["code"]["code"].as_str().unwrap_or_default();
            let text = diagnostic["message"].as_str().expect("a message");
            errors.entry(target.to_owned()).or_default().push((line, format!("{code}: {text}")));
        }
        assert!(!errors.is_empty(), "{log}");
        for errors in errors.values_mut() {
            errors.sort();
            // How often the compiler repeats an error varies.
            errors.dedup_by_key(|(line, text)| (*line, text.split(':').next().map(str::to_owned)));
        }
        errors
    }
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expected(source: &str) -> Errors {
    let lines = source.lines().zip(1..);
    lines.filter_map(|(line, number)| Some((number, line.split_once("//~ ")?.1.into()))).collect()
}
