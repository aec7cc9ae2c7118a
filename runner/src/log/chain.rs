//! The logs of a run that was cut short and resumed, each part in a log of its own.

use std::path::{Path, PathBuf};

use super::{LOG, LogError, ReadError, RunHeader, store};

/// Returns the log with all logs that it resumes, the oldest first.
///
/// # Errors
///
/// One of these was not found.
pub(super) fn of(log: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut chain = vec![log.to_owned()];
    // A first line that cannot be read is an error of its reader.
    let mut header = RunHeader::read(log).ok();
    while let Some(id) = header.as_ref().and_then(RunHeader::goes_on_with) {
        let newer = store::in_its_run(chain.last().expect("it has one"));
        // A link to another folder.
        let newer = newer.canonicalize().unwrap_or(newer);
        let runs = newer.ancestors().nth(2).unwrap_or(Path::new(""));
        let older = runs.join(id).join(LOG);
        let is_beside = Path::new(id).file_name() == Some(id.as_ref());
        if !is_beside || !older.is_file() || chain.contains(&older) {
            return Err(ReadError::Log(newer, LogError::NoParent(id.to_owned())));
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
    use crate::log::run_log::RunLog;
    use crate::log::sample::{goes_on_with, header, result};
    use crate::verdict::Outcome;

    /// Writes the log of a run with one result, whose output is long.
    fn write(folder: &Path, id: &str, before: Option<&str>) -> PathBuf {
        let log = folder.join("runs").join(id).join(LOG);
        let parent = before.map(goes_on_with);
        let header = RunHeader { run_id: id.to_owned(), parent, ..header(Vec::new()) };
        let stdout = id.repeat(5000);
        let mut result = result(&format!("s::t{id}@d"), Outcome::Passed);
        result.attempt.stdout = stdout;
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
        let outputs =
            log.results.iter().map(|result| log.with_output(result).attempt.stdout.clone());
        assert_eq!(outputs.collect::<Vec<_>>(), ["1", "2", "3"].map(|id| id.repeat(5000)));
        let link = folder.path().join(LOG);
        crate::os::link_file(folder.path(), &last, &link).unwrap();
        assert_eq!(RunLog::read(&link).unwrap().results, log.results);
        fs::remove_file(first).unwrap();
        let error = RunLog::read(&last).unwrap_err().to_string();
        assert!(error.contains("resumes 1, whose log was not found"), "{error}");
    }

    #[test]
    fn logs_that_go_on_with_each_other_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "1", Some("2"));
        assert!(of(&write(folder.path(), "2", Some("1"))).is_err());
    }
}
