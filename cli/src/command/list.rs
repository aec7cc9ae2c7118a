//! `clmatrix list`.

use clap::Args;
use clmatrix_runner::case::Case;
use clmatrix_runner::registry::Ignore;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::target::{SUCCESS, Target};
use clmatrix_runner::terminal::{AnyError, print, print_text};
use clmatrix_runner::text::first_line;
use serde::Serialize;

use super::common::{ReportPlace, TableFormat};
use super::selection::Filter;
use super::shard::ShardArguments;
use crate::external::listing::all_cases;

/// Lists the tests in the order of the sources. The requirements of a test are checked for each device
/// when it runs.
#[derive(Args)]
pub struct ListArguments {
    /// Tests to list: parts of the path (`suite::test::case`), ids or globs, whose `@device` has no
    /// effect [default: all tests].
    filter: Vec<String>,
    /// Print a table, or JSON.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    format: TableFormat,
    /// Print only the paths, one a line, as `run --tests` reads them.
    #[arg(long, conflicts_with = "format")]
    ids: bool,
    #[command(flatten)]
    sharding: ShardArguments,
    #[command(flatten)]
    place: ReportPlace,
}

#[derive(Serialize)]
struct ListedTest {
    test: String,
    requires: Vec<String>,
    once: bool,
    alone: bool,
    ignored: bool,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// The reason why the tests of a program are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ListedTest {
    fn new(test: &Case, home: &str) -> Self {
        let (file, line) = test.source();
        Self {
            test: test.path(home),
            requires: test.requires().iter().map(ToString::to_string).collect(),
            once: test.once(),
            alone: test.alone(),
            ignored: test.ignore() != Ignore::No,
            file,
            line,
            error: match test {
                Case::Outside(test) => test.list_error().map(str::to_owned),
                Case::Registered(_) => None,
            },
        }
    }

    fn remarks(&self) -> String {
        let mut remarks = self.requires.clone();
        remarks.extend(self.once.then(|| "once, without a device".to_owned()));
        remarks.extend(self.alone.then(|| "alone".to_owned()));
        remarks.extend(self.ignored.then(|| "ignored".to_owned()));
        remarks.extend(self.error.as_ref().map(|error| format!("error: {}", first_line(error))));
        remarks.join(", ")
    }
}

pub fn list(target: Target, arguments: &ListArguments) -> Result<u8, AnyError> {
    let filter = Filter::new(&arguments.filter)?;
    let mut unmatched = filter.unmatched();
    let mut tests: Vec<ListedTest> = all_cases(&arguments.place.config(target)?, target.home)?
        .iter()
        .map(|test| ListedTest::new(test, target.home))
        .inspect(|listed| unmatched.remove_those_of(&TestId::new(&listed.test, "")))
        .filter(|listed| filter.accepts_test(&listed.test))
        .collect();
    let unmatched = unmatched.texts();
    if !unmatched.is_empty() {
        return Err(format!("no test matches {}", unmatched.join(" or ")).into());
    }
    let reports = || Ok(arguments.place.folder(target)?);
    let paths = tests.iter().map(|listed| &*listed.test);
    if let Some(mut shard) = arguments.sharding.choose(None)? {
        arguments.sharding.balance(&mut shard, reports, paths)?;
        tests.retain(|listed| shard.has(&listed.test));
    }
    match arguments.format {
        _ if arguments.ids => {
            print(&tests.iter().map(|listed| format!("{}\n", listed.test)).collect::<String>())
        }
        TableFormat::Json => print(&(serde_json::to_string_pretty(&tests)? + "\n")),
        TableFormat::Table => print_text(&table(&tests)),
    }?;
    Ok(SUCCESS)
}

fn table(tests: &[ListedTest]) -> String {
    let line = |listed: &ListedTest| {
        let remarks = listed.remarks();
        let gap = if remarks.is_empty() { "" } else { "  " };
        format!("{}{gap}{remarks}\n", listed.test)
    };
    format!("{}{} tests\n", tests.iter().map(line).collect::<String>(), tests.len())
}
