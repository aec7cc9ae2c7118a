//! The schema that `clmatrix config schema` prints.

use std::fs;
use std::process::Command;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use super::{files, root};

/// The problem that the schema finds in each of these configurations.
fn problems(configurations: &[Value]) -> Vec<Option<String>> {
    let clmatrix = env!("CARGO_BIN_EXE_clmatrix");
    let output = Command::new(clmatrix).args(["config", "schema"]).output().expect("it starts");
    let schema = serde_json::from_slice(&output.stdout).expect("JSON");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", schema).expect("JSON");
    let schema = compiler.compile("schema.json", &mut schemas).expect("a schema");
    let check = |configuration| schemas.validate(configuration, schema).err();
    configurations.iter().map(|one| check(one).map(|error| error.to_string())).collect()
}

/// The configurations that the guide shows: blocks of TOML with a table of `clmatrix.toml`.
fn shown() -> Vec<(String, Value)> {
    const TABLES: [&str; 4] = ["[profile.", "[[override]]", "[group.", "[[external]]"];
    let mut found = Vec::new();
    for page in files(&root().join("docs"), &["md"]) {
        let text = fs::read_to_string(&page).expect("it is readable");
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        // A profile of cargo inherits from another.
        let is_of_clmatrix = |block: &&str| {
            let has_table = block.lines().any(|line| TABLES.iter().any(|t| line.starts_with(t)));
            has_table && !block.contains("inherits =")
        };
        for block in blocks.filter(is_of_clmatrix) {
            found.push((page.display().to_string(), toml::from_str(block).expect("TOML")));
        }
    }
    found
}

#[test]
fn our_configurations_are_valid() {
    let files = ["config/clmatrix.toml", "config/cts.toml", "runner/src/config/builtin.toml"];
    let mut all = shown();
    assert!(!all.is_empty(), "the guide shows some");
    for file in files {
        let text = fs::read_to_string(root().join(file)).expect("it is readable");
        all.push((file.to_owned(), toml::from_str(&text).expect("TOML")));
    }
    let (names, configurations): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    for (name, problem) in names.iter().zip(problems(&configurations)) {
        assert_eq!(problem, None, "{name}");
    }
}

#[test]
fn mistakes_are_found() {
    let mistakes = [
        json!({ "profiles": {} }),
        json!({ "profile": { "ci": { "timeouts": "1s" } } }),
        json!({ "profile": { "ci": { "slots": "many" } } }),
        json!({ "profile": { "ci": { "slots": 0 } } }),
        json!({ "profile": { "ci": { "expected-devices": [{ "id": "a" }] } } }),
        json!({ "profile": { "ci": { "retries": { "on": ["crash"] } } } }),
        json!({ "override": [{ "tests": 1 }] }),
        json!({ "group": { "big": { "per": "rack" } } }),
        json!({ "external": [{ "name": "cts" }] }),
    ];
    for (mistake, problem) in mistakes.iter().zip(problems(&mistakes)) {
        assert!(problem.is_some(), "{mistake}");
    }
}
