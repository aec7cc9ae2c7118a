//! The logs of a run that was cut short and went on, each time in a log of its own.

use std::path::{Path, PathBuf};

use super::format::LOG;
use super::read_error::{LogError, ReadError};
use super::run_header::RunHeader;
use super::store;

/// Returns the log with all those that it goes on with, the oldest first.
///
/// # Errors
///
/// One of these is not there.
pub(super) fn of(log: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut chain = vec![log.to_owned()];
    // A first line that cannot be read is an error of its reader.
    let mut header = RunHeader::read(log).ok();
    while let Some(resumes) = header.and_then(|header| header.resumes) {
        let newer = chain.last().expect("it has one");
        let newer = store::in_its_run(newer);
        // A link elsewhere.
        let newer = newer.canonicalize().unwrap_or(newer);
        let runs = newer.ancestors().nth(2).unwrap_or(Path::new(""));
        let older = runs.join(&resumes.run_id).join(LOG);
        let is_beside = Path::new(&resumes.run_id).file_name() == Some(resumes.run_id.as_ref());
        if !is_beside || !older.is_file() || chain.contains(&older) {
            return Err(ReadError::Log { path: newer, error: LogError::NoParent(resumes.run_id) });
        }
        header = RunHeader::read(&older).ok();
        chain.push(older);
    }
    chain.reverse();
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::log::events::Event;
    use crate::log::run_header::Resumes;
    use crate::log::run_log::RunLog;
    use crate::log::sample::{header, result};
    use crate::verdict::Outcome;

    /// Writes the log of a run with one result, whose output is long.
    fn write(folder: &Path, id: &str, before: Option<&str>) -> PathBuf {
        let log = folder.join("runs").join(id).join(LOG);
        let resumes = before.map(|id| Resumes { run_id: id.to_owned(), differences: Vec::new() });
        let header = RunHeader { run_id: id.to_owned(), resumes, ..header(Vec::new()) };
        let stdout = id.repeat(5000);
        let mut result = result(&format!("s::t{id}@d"), Outcome::Passed);
        result.stdout = stdout;
        let events = [Event::Run(Box::new(header)), Event::finished(result)];
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        // The runner was killed while it wrote the next line.
        fs::write(&log, lines.concat() + "{\"event\":\"fin").unwrap();
        log
    }

    #[test]
    fn a_log_is_read_with_those_that_it_goes_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let first = write(folder.path(), "1", None);
        write(folder.path(), "2", Some("1"));
        let last = write(folder.path(), "3", Some("2"));
        let log = RunLog::read(&last).unwrap();
        assert_eq!((&*log.header.run_id, log.resumed.len()), ("3", 2));
        let outputs = log.results.iter().map(|result| log.with_output(result).stdout.clone());
        assert_eq!(outputs.collect::<Vec<_>>(), ["1", "2", "3"].map(|id| id.repeat(5000)));
        let link = folder.path().join(LOG);
        crate::os::link_file(folder.path(), &last, &link).unwrap();
        assert_eq!(RunLog::read(&link).unwrap().results, log.results);
        fs::remove_file(first).unwrap();
        let error = RunLog::read(&last).unwrap_err().to_string();
        assert!(error.contains("goes on with 1, whose log is not there"), "{error}");
    }

    #[test]
    fn logs_that_go_on_with_each_other_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1", Some("2"));
        assert!(of(&write(folder.path(), "2", Some("1"))).is_err());
    }
}
