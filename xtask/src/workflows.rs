//! The workflows in docs/guide/ci.md, checked with the schemas and the grammar of their systems.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::files::{self, cannot};
use crate::process;
use crate::venv;
use crate::workspace::Workspace;

const PAGE: &str = "docs/guide/ci.md";

/// The pinned packages.
const PINS: &str = include_str!("../workflows-pins.txt");

/// The first line of each workflow, and the arguments of the Python that checks its file.
const WORKFLOWS: [(&str, &[&str]); 3] = [
    (
        "# .github/workflows/opencl.yml",
        &["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"],
    ),
    (
        "# .gitlab-ci.yml",
        &[
            "-m",
            "check_jsonschema",
            "--builtin-schema",
            "vendor.gitlab-ci",
            "--data-transform",
            "gitlab-ci",
        ],
    ),
    ("// Jenkinsfile", &["-c", PARSE_GROOVY]),
];

/// Fails with the place of the first error.
const PARSE_GROOVY: &str = "
import sys, tree_sitter, tree_sitter_groovy
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_groovy.language()))
nodes = [parser.parse(open(sys.argv[1], 'rb').read()).root_node]
while nodes:
    node = nodes.pop()
    if node.is_error or node.is_missing:
        sys.exit(f'{sys.argv[1]}:{node.start_point.row + 1}: not Groovy')
    nodes.extend(reversed(node.children))
";

/// Checks each workflow.
pub fn check(workspace: &Workspace) -> Result<()> {
    let page = workspace.root.join(PAGE);
    let page = fs::read_to_string(&page).with_context(|| cannot("read", &page))?;
    let folder = workspace.target.join("workflows");
    let python = venv::install(&folder, PINS)?;
    for (first, arguments) in WORKFLOWS {
        let text = block(&page, first).with_context(|| format!("{PAGE} has no block `{first}`"))?;
        // The checker reads the format from the extension.
        let file = folder.join(first.rsplit(['/', ' ']).next().unwrap_or(first));
        fs::write(&file, text).with_context(|| cannot("write", &file))?;
        check_file(&python, arguments, &file).with_context(|| format!("{PAGE}: `{first}`"))?;
        println!("valid: {}", files::name(&file));
    }
    Ok(())
}

fn check_file(python: &Path, arguments: &[&str], file: &Path) -> Result<()> {
    let output = process::output(Command::new(python).args(arguments).arg(file))?;
    let text = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&text).trim_end());
    Ok(())
}

/// The code block of a page that begins with the line `first`.
fn block<'a>(page: &'a str, first: &str) -> Option<&'a str> {
    let start = page.find(&format!("\n{first}\n"))? + 1;
    page[start..].split("\n```\n").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_its_fence() {
        let page = "text\n```yaml\n# a\nb: 1\n```\nmore\n```yaml\n# c\n```\n";
        assert_eq!(block(page, "# a"), Some("# a\nb: 1"));
        assert_eq!(block(page, "# d"), None);
    }
}
