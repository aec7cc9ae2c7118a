//! The lists of the OpenCL conformance test suite, as `[[external]]` tables.

use std::collections::HashSet;
use std::path::Path;

use clmatrix_runner::config::check_suite_name;
use glob::Pattern;

/// A line of a list.
struct Entry<'a> {
    label: &'a str,
    program: &'a str,
    /// The keys for its arguments, the names of its tests and the type of its devices.
    keys: String,
}

/// The types of devices in lists.
const TYPES: [&str; 4] = ["cpu", "gpu", "accelerator", "custom"];

/// The first lines of the tables.
const BEGINNING: &str = "\
# A test that reaches its time limit takes it from the hang-budget of its device, which is 10 minutes by default.
# A larger one, in the table of the profile: hang-budget = \"1h\"

";

/// Returns the tables for the lines of a list. The programs are in `folder`. Programs without arguments are one
/// suite; each program with arguments is a suite of its own, within that name. A word with `*` selects tests. Other
/// words are arguments: a list does not distinguish them from the names of tests.
///
/// # Errors
///
/// A line is invalid; the error has its number. The list is empty, or the name is not one of a suite.
pub fn import(list: &str, name: &str, folder: &Path) -> Result<String, String> {
    check_suite_name(name)?;
    let lines = list.lines().map(str::trim).zip(1..);
    let lines = lines.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let read =
        |(line, number)| Entry::read(line).map_err(|reason| format!("line {number}: {reason}"));
    let entries = lines.map(read).collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err("no line names a program".to_owned());
    }
    let (plain, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.keys.is_empty());
    let mut tables = Vec::new();
    let mut programs: Vec<_> = plain.into_iter().map(|entry| entry.program).collect();
    programs.dedup();
    if !programs.is_empty() {
        let paths = programs.iter().map(|program| format!("    {},\n", path(folder, program)));
        tables.push(table(name, &format!("[\n{}]", paths.collect::<String>()), ""));
    }
    let mut names = HashSet::new();
    for entry in others {
        let plain = format!("{name}::{}", slug(entry.label));
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let mut all = [plain.clone()].into_iter().chain(numbered);
        let suite = all.find(|suite| names.insert(suite.clone())).expect("numbers do not end");
        tables.push(table(&suite, &path(folder, entry.program), &entry.keys));
    }
    Ok(BEGINNING.to_owned() + &tables.join("\n"))
}

/// Returns a table with these programs and other keys. Many tests take minutes.
fn table(name: &str, programs: &str, keys: &str) -> String {
    format!(
        "[[external]]\nname = {}\nkind = \"opencl-cts\"\nprograms = {programs}\n{keys}timeout = \"10m\"\n",
        quoted(name)
    )
}

/// Returns a path in which no character is a wildcard.
fn path(folder: &Path, program: &str) -> String {
    quoted(&Pattern::escape(&folder.join(program).display().to_string()))
}

/// Returns a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Returns a label as a word of a suite's name.
fn slug(label: &str) -> String {
    let words = label.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

impl<'a> Entry<'a> {
    /// Parses `[CL_DEVICE_TYPE_X,] LABEL, PROGRAM ARGUMENTS`.
    fn read(line: &'a str) -> Result<Self, String> {
        let columns: Vec<&str> = line.split(',').map(str::trim).collect();
        let device_type = columns[0].strip_prefix("CL_DEVICE_TYPE_").map(str::to_ascii_lowercase);
        if device_type.as_ref().is_some_and(|name| !TYPES.contains(&&**name)) {
            return Err(format!("unknown type of devices {}", columns[0]));
        }
        let [label, command] = columns[usize::from(device_type.is_some())..] else {
            return Err(format!("{line:?} is not `LABEL,PROGRAM ARGUMENTS`"));
        };
        let mut words = command.split_whitespace();
        let program = words.next().filter(|_| !slug(label).is_empty());
        let program = program.ok_or_else(|| format!("{line:?} lacks a label or a program"))?;
        // `all` selects all tests, and so does no name.
        let words = words.filter(|word| *word != "all");
        let (tests, args): (Vec<_>, Vec<_>) = words.partition(|word| word.contains('*'));
        let mut keys = String::new();
        for (key, words) in [("args", args), ("tests", tests)] {
            if !words.is_empty() {
                let words: Vec<_> = words.into_iter().map(quoted).collect();
                keys += &format!("{key} = [{}]\n", words.join(", "));
            }
        }
        if let Some(device_type) = &device_type {
            keys += &format!("type = {}\n", quoted(device_type));
        }
        Ok(Self { label, program, keys })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_line_becomes_a_program_or_a_suite() {
        let list = "\
# comment

Basic,basic/test_basic
Thread Dimensions,thread_dimensions/test_thread_dimensions full*
Allocations (single maximum),allocations/test_allocations single 5 all
CL_DEVICE_TYPE_CPU, Images (Kernel pitch),images/test_image_streams use_pitches CL_FILTER_LINEAR
Vectors, vectors/test_vectors
";
        insta::assert_snapshot!(import(list, "cts", Path::new("/cts")).unwrap());
    }

    #[test]
    fn the_tables_are_a_configuration() {
        let list = "A,a/test_a\nB \"1\",b/test_b one\nB (1),b/test_b two\nB 1 2,b/test_b 3\n";
        let text = import(list, "cts", Path::new("/a \"b\"[c]")).unwrap();
        let project = clmatrix_runner::config::sample::Project::new(&[("clmatrix.toml", &text)]);
        let suites = project.config().unwrap().external;
        let names: Vec<&str> = suites.iter().map(|suite| &*suite.name).collect();
        assert_eq!(names, ["cts", "cts::b_1", "cts::b_1_2", "cts::b_1_2_2"]);
        assert_eq!(suites[2].args, ["two"]);
        let limit = Some(Duration::from_secs(600));
        assert!(suites.iter().all(|suite| suite.timeout == limit));
        assert_eq!(suites[0].programs, [Path::new("/a \"b\"[[]c[]]/a/test_a")]);
    }

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        for (line, expected) in [
            ("one column", "line 1: "),
            ("a,b,c", "line 1: "),
            ("label,", "line 1: "),
            ("CL_DEVICE_TYPE_TOASTER,a,b", "unknown type of devices CL_DEVICE_TYPE_TOASTER"),
        ] {
            let error = import(line, "cts", Path::new("")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(import("# none\n", "cts", Path::new("")).is_err());
        assert!(import("a,b", "a b", Path::new("")).unwrap_err().contains("must be words"));
    }
}
