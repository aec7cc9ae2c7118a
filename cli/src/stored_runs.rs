//! The stored runs of a report folder, by the names that users write.

use std::io;
use std::path::{Path, PathBuf};

use clmatrix_runner::log::LOG;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::store::{in_its_run, running, runs, runs_folder};

/// Finds the log of a run: the path of a file or folder (of a report folder without a full run, the latest run
/// counts), an id or its beginning, or `latest`.
///
/// # Errors
///
/// There is no such run, or more than one.
pub fn find(folder: &Path, run: &str) -> Result<PathBuf, String> {
    let path = Path::new(run);
    if let Some(log) = [path.to_owned(), path.join(LOG)].into_iter().find(|log| log.is_file()) {
        return Ok(in_its_run(&log));
    }
    if runs_folder(path).is_dir() {
        return find(path, "latest");
    }
    let shown = folder.display();
    let unreadable = |error| format!("the report folder {shown}: {error}");
    if run == "latest" {
        let latest = latest(folder).map_err(unreadable)?;
        return latest.ok_or_else(|| format!("the report folder {shown} has no run"));
    }
    let mut stored = runs(folder).map_err(unreadable)?;
    stored.retain(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(run))
    });
    match &stored[..] {
        [one] => Ok(one.join(LOG)),
        [] => Err(format!("no run {run:?} in {shown}; `clmatrix runs` shows all")),
        _ => Err(format!("several runs begin with {run:?}; `clmatrix runs` shows all")),
    }
}

/// Finds the logs of several runs.
///
/// # Errors
///
/// One of them is not found.
pub(crate) fn find_all(folder: &Path, runs: &[String]) -> Result<Vec<PathBuf>, String> {
    runs.iter().map(|run| find(folder, run)).collect()
}

/// Returns the run that resumes this one, if there is one.
pub(crate) fn continuation(folder: &Path, run_id: &str) -> io::Result<Option<PathBuf>> {
    let goes_on = |run: &PathBuf| {
        RunHeader::read(&run.join(LOG)).is_ok_and(|header| header.goes_on_with() == Some(run_id))
    };
    Ok(runs(folder)?.into_iter().find(goes_on))
}

/// The log of the newest stored run, if there is one. A run whose log has no whole first line does not count: it has
/// not begun.
pub(crate) fn latest(folder: &Path) -> io::Result<Option<PathBuf>> {
    let logs = runs(folder)?.into_iter().rev().map(|run| run.join(LOG));
    let mut logs =
        logs.filter(|log| RunHeader::read(log).is_ok() || log.parent().and_then(running).is_some());
    Ok(logs.next())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clmatrix_runner::config::Sync;
    use clmatrix_runner::log::events::Event;
    use clmatrix_runner::log::sample::header;
    use clmatrix_runner::log::store::Place;

    use super::*;

    /// Stores a run that has ended.
    fn store(folder: &Path, id: &str, is_full: bool) {
        let place =
            Place { folder: folder.to_owned(), run_id: id.to_owned(), is_full, resumes: None };
        let (_folder, log) = place.create(9, Sync::Off).unwrap();
        serde_json::to_writer(log, &Event::Run(Box::new(header(Vec::new())))).unwrap();
    }

    #[test]
    fn a_run_is_found_by_the_beginning_of_its_id() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1a-7", true);
        store(folder.path(), "1b-7", false);
        let found =
            |run: &str| find(folder.path(), run).map(|log| log.parent().unwrap().to_owned());
        let at = |id| folder.path().join("runs").join(id);
        assert_eq!(found("1a"), Ok(at("1a-7")));
        assert_eq!(found("latest"), Ok(at("1b-7")));
        assert_eq!(found(at("1a-7").to_str().unwrap()), Ok(at("1a-7")));
        assert_eq!(found(folder.path().to_str().unwrap()), Ok(at("1a-7")));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(at("1b-7").join(LOG), &link).unwrap();
            assert_eq!(found(link.to_str().unwrap()), Ok(at("1b-7")));
        }
        fs::remove_file(folder.path().join(LOG)).unwrap();
        assert_eq!(found(folder.path().to_str().unwrap()), Ok(at("1b-7")));
        let all = fs::read_dir(folder.path().join("runs")).unwrap();
        let all: Vec<_> =
            all.map(|entry| entry.unwrap().path().to_str().unwrap().to_owned()).collect();
        assert_eq!(find_all(folder.path(), &all).unwrap().len(), all.len());
        assert!(found("1").unwrap_err().contains("several runs"));
        assert!(found("2").unwrap_err().contains("no run"));
    }
}
