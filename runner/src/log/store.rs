//! The folder of reports: a folder for each run, and links to the last full one.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::lock::Lock;
use super::{LOG, RunHeader};
use crate::config::Sync;
use crate::folders::{entries, remove_if_there, with_extension};
use crate::{files, os};

/// The name of the summary beside the log.
pub const SUMMARY: &str = "summary.md";

/// The name of the page in its folder.
pub const PAGE: &str = "report.html";

/// The folder of a run that is being written.
pub struct RunFolder {
    /// `REPORT_DIR/runs/RUN_ID`.
    pub path: PathBuf,
    /// The locks of the folder, of the run that it resumes, and of REPORT_DIR, if its links will show this run.
    _locks: Vec<Lock>,
}

/// The place of the log and the reports of a run.
#[derive(Clone, Debug)]
pub struct Place {
    /// REPORT_DIR.
    pub folder: PathBuf,
    /// The id of the run.
    pub run_id: String,
    /// True for a run of all tests, which the links of REPORT_DIR will show.
    pub is_full: bool,
    /// The id of the run that it resumes, whose log is kept.
    pub resumes: Option<String>,
}

impl Place {
    /// `REPORT_DIR/runs/RUN_ID`.
    pub fn run_folder(&self) -> PathBuf {
        runs_folder(&self.folder).join(&self.run_id)
    }

    /// Creates the folder and the log in it, and removes the oldest runs beyond `keep`, and files that killed processes
    /// were writing. If each test is synced, the entries of the folders are, too.
    ///
    /// # Errors
    ///
    /// Another full run writes there, or the folder cannot be written.
    pub fn create(&self, keep: usize, sync: Sync) -> io::Result<(RunFolder, File)> {
        let path = self.run_folder();
        fs::create_dir_all(&path)?;
        let created = self.create_in(&path, sync);
        let created = created.inspect_err(|_| drop(fs::remove_dir_all(&path)))?;
        remove_old_runs(&self.folder, keep);
        for folder in runs(&self.folder).unwrap_or_default().iter().chain([&self.folder]) {
            files::remove_leftovers(folder);
            files::remove_leftovers(&folder.join("junit"));
        }
        Ok(created)
    }

    fn create_in(&self, path: &Path, sync: Sync) -> io::Result<(RunFolder, File)> {
        // They are released in their order: until the last one, the run is seen as running.
        let mut locks = vec![Lock::acquire(&lock_path(path), "another process writes there", "")?];
        if let Some(run) = &self.resumes {
            let lock = lock_path(&runs_folder(&self.folder).join(run));
            locks.insert(0, Lock::acquire(&lock, "another process resumes this run", "")?);
        }
        if self.is_full {
            // It lies outside of `runs`, which has nothing but runs.
            let lock = self.folder.join("full.lock");
            let advice = "; give this run a folder of its own with CLMATRIX_REPORT_DIR";
            locks.insert(0, Lock::acquire(&lock, "another run of all tests writes there", advice)?);
        }
        let log = files::create_log(&path.join(LOG))?;
        if sync == Sync::Each {
            // The folder of the run, `runs` and REPORT_DIR.
            path.ancestors().take(3).try_for_each(os::sync_folder)?;
        }
        if self.is_full {
            self.link()?;
        }
        Ok((RunFolder { path: path.to_owned(), _locks: locks }, log))
    }

    /// Makes `REPORT_DIR/events.jsonl` a link to this run's log, and removes the reports of an earlier
    /// run.
    fn link(&self) -> io::Result<()> {
        let link = self.folder.join(LOG);
        if link.is_file() && !link.is_symlink() && !is_a_log(&link)? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "its events.jsonl is not a log of clmatrix; it is left alone",
            ));
        }
        let temporary = self.run_folder().join("link");
        let log = Path::new("runs").join(&self.run_id).join(LOG);
        os::link_file(&self.folder, &log, &temporary)?;
        remove_reports(&self.folder.join("junit"), "xml")?;
        [SUMMARY, PAGE].iter().try_for_each(|name| remove_if_there(&self.folder.join(name)))?;
        // The last step: after an error the link shows the earlier run, and keeps it.
        fs::rename(&temporary, &link)
    }
}

/// Shows the page, the JUnit files and the summary of a run in REPORT_DIR, each put in place by a rename, if the
/// link of REPORT_DIR shows the run. Returns the first error, after it has tried all files.
pub fn publish(folder: &Path, run: &Path) -> io::Result<()> {
    if !is_shown(folder, run) {
        return Ok(());
    }
    fs::create_dir_all(folder.join("junit"))?;
    let copy = |file: PathBuf| {
        let shown = folder.join(file.strip_prefix(run).unwrap_or(&file));
        files::replace(&shown, &files::read_found(&file)?)
    };
    // A run of `cargo test` has neither.
    let beside_log = [SUMMARY, PAGE].map(|name| run.join(name)).into_iter();
    let reports = beside_log.filter(|file| file.is_file());
    let reports = reports.chain(with_extension(&run.join("junit"), "xml")?);
    reports.map(copy).fold(Ok(()), Result::and)
}

/// Returns whether the link of REPORT_DIR shows the log of this run.
pub fn is_shown(folder: &Path, run: &Path) -> bool {
    files::is_same(&folder.join(LOG), &run.join(LOG))
}

/// Returns the log in the folder of its run, behind the link of REPORT_DIR or another symbolic link.
pub fn in_its_run(log: &Path) -> PathBuf {
    let folder = log.parent().unwrap_or(Path::new(""));
    let mut logs = runs(folder).unwrap_or_default().into_iter().map(|run| run.join(LOG));
    let in_run = logs.find(|its| files::is_same(log, its));
    let linked = || fs::read_link(log).ok().map(|link| log.with_file_name(link));
    in_run.or_else(linked).unwrap_or_else(|| log.to_owned())
}

/// `REPORT_DIR/runs`.
pub fn runs_folder(folder: &Path) -> PathBuf {
    folder.join("runs")
}

fn lock_path(run: &Path) -> PathBuf {
    run.join("lock")
}

/// Returns the folders of the stored runs, oldest first.
pub fn runs(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut runs = entries(&runs_folder(folder))?;
    runs.retain(|run| run.join(LOG).is_file());
    Ok(runs)
}

/// Returns the note that a run is still running, if a process writes to its folder.
pub fn running(run: &Path) -> Option<String> {
    Lock::held_by(&lock_path(run)).map(|holder| format!("the run is still running{holder}"))
}

/// Removes the oldest runs beyond `keep`, except one that is being written, that is the parent of one that stays, or
/// that the link of the folder shows. A run counts together with those that it resumes. Errors are ignored: the next
/// run tries again.
fn remove_old_runs(folder: &Path, keep: usize) {
    let header = |run: PathBuf| (RunHeader::read(&run.join(LOG)).ok(), run);
    let runs: Vec<_> = runs(folder).unwrap_or_default().into_iter().map(header).collect();
    let headers = runs.iter().filter_map(|(header, _)| header.as_ref());
    let resumed: Vec<&str> = headers.filter_map(RunHeader::goes_on_with).collect();
    let is_one_of = |run: &Path, ids: &[&str]| ids.iter().any(|id| run.ends_with(id));
    let (mut age, mut parents) = (0, Vec::new());
    // The newest first: a parent is older than its run.
    for (header, run) in runs.iter().rev() {
        let stays = age < keep
            || is_one_of(run, &parents)
            || is_shown(folder, run)
            || running(run).is_some();
        age += usize::from(!is_one_of(run, &resumed));
        if stays {
            let parent = header.as_ref().and_then(|header| header.parent.as_ref());
            parents.extend(parent.map(|parent| &*parent.run_id));
        } else {
            let _ = fs::remove_dir_all(run);
        }
    }
}

/// Returns whether a file is empty or begins like a log.
fn is_a_log(file: &Path) -> io::Result<bool> {
    let mut first_line = String::new();
    BufReader::new(files::open_found(file)?).read_line(&mut first_line)?;
    Ok(first_line.is_empty()
        || serde_json::from_str::<RunHeader>(&first_line).is_ok()
        // An earlier run was killed while it wrote this line.
        || !first_line.ends_with('\n') && first_line.starts_with("{\"event\":\"run\""))
}

/// Removes the files in `folder` that have this extension.
pub fn remove_reports(folder: &Path, extension: &str) -> io::Result<()> {
    with_extension(folder, extension)?.iter().try_for_each(fs::remove_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::run_header::Parent;
    use crate::log::sample::goes_on_with;

    /// Stores a run that has ended.
    fn store(folder: &Path, id: &str, is_full: bool, parent: Option<&str>, keep: usize) {
        let place =
            Place { folder: folder.to_owned(), run_id: id.to_owned(), is_full, resumes: None };
        let (_folder, mut log) = place.create(keep, Sync::Each).unwrap();
        let header = RunHeader {
            parent: parent.map(|run| Parent { goes_on: false, ..goes_on_with(run) }),
            ..crate::log::sample::header(Vec::new())
        };
        let event = crate::log::events::Event::Run(Box::new(header));
        io::Write::write_all(&mut log, &serde_json::to_vec(&event).unwrap()).unwrap();
    }

    fn ids(folder: &Path) -> Vec<String> {
        let name = |run: PathBuf| run.file_name().unwrap().to_string_lossy().into_owned();
        runs(folder).unwrap().into_iter().map(name).collect()
    }

    #[test]
    fn the_newest_runs_stay_with_their_parents_and_the_full_one() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", true, None, 9);
        store(folder.path(), "2-a", false, None, 9);
        store(folder.path(), "3-a", false, None, 9);
        store(folder.path(), "4-a", false, Some("2-a"), 9);
        store(folder.path(), "5-a", false, None, 2);
        assert_eq!(ids(folder.path()), ["1-a", "2-a", "4-a", "5-a"]);
        let link = fs::read_link(folder.path().join(LOG)).unwrap();
        assert_eq!(link, Path::new("runs/1-a/events.jsonl"));
    }

    #[test]
    fn the_parents_of_all_runs_that_stay_do_so_as_well() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", false, None, 9);
        store(folder.path(), "2-a", false, Some("1-a"), 9);
        store(folder.path(), "3-a", true, Some("2-a"), 9);
        store(folder.path(), "4-a", false, None, 9);
        store(folder.path(), "5-a", false, None, 1);
        assert_eq!(ids(folder.path()), ["1-a", "2-a", "3-a", "5-a"]);
    }

    #[test]
    fn a_full_run_that_cannot_begin_leaves_the_link() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", true, None, 9);
        fs::write(folder.path().join("junit"), "no folder").unwrap();
        let place = Place {
            folder: folder.path().to_owned(),
            run_id: "2-a".to_owned(),
            is_full: true,
            resumes: None,
        };
        assert!(place.create(9, Sync::Off).is_err());
        assert!(folder.path().join(LOG).is_file(), "the link shows a log");
        assert_eq!(ids(folder.path()), ["1-a"]);
    }

    #[test]
    fn a_run_that_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            folder: folder.path().to_owned(),
            run_id: "1-a".to_owned(),
            is_full: false,
            resumes: None,
        };
        let written = place.create(9, Sync::Off).unwrap();
        store(folder.path(), "2-a", false, None, 1);
        assert_eq!(ids(folder.path()), ["1-a", "2-a"]);
        drop(written);
        store(folder.path(), "3-a", false, None, 1);
        assert_eq!(ids(folder.path()), ["3-a"]);
    }

    #[test]
    fn runs_that_another_goes_on_with_stay() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", false, None, 9);
        let place = |id: &str, resumes: &str| Place {
            folder: folder.path().to_owned(),
            run_id: id.to_owned(),
            is_full: false,
            resumes: Some(resumes.to_owned()),
        };
        for (id, before) in [("2-a", "1-a"), ("3-a", "2-a")] {
            let (_folder, mut log) = place(id, before).create(1, Sync::Off).unwrap();
            let parent = Some(goes_on_with(before));
            let header = RunHeader { parent, ..crate::log::sample::header(Vec::new()) };
            let event = crate::log::events::Event::Run(Box::new(header));
            io::Write::write_all(&mut log, &serde_json::to_vec(&event).unwrap()).unwrap();
        }
        assert_eq!(ids(folder.path()), ["1-a", "2-a", "3-a"]);
        // They count as one run.
        store(folder.path(), "4-a", false, None, 2);
        assert_eq!(ids(folder.path()), ["1-a", "2-a", "3-a", "4-a"]);
        store(folder.path(), "5-a", false, None, 2);
        assert_eq!(ids(folder.path()), ["4-a", "5-a"]);
    }

    #[test]
    fn two_processes_do_not_go_on_with_one_run() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", false, None, 9);
        let place = |id: &str| Place {
            folder: folder.path().to_owned(),
            run_id: id.to_owned(),
            is_full: false,
            resumes: Some("1-a".to_owned()),
        };
        let _first = place("2-a").create(9, Sync::Off).unwrap();
        let busy = place("3-a").create(9, Sync::Off).err().unwrap().to_string();
        assert!(busy.starts_with("another process resumes this run (process "), "{busy}");
    }

    #[test]
    fn one_full_run_at_a_time_writes_to_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), "1-a", true, None, 9);
        let full = Place {
            folder: folder.path().to_owned(),
            run_id: "2-a".to_owned(),
            is_full: true,
            resumes: None,
        };
        let _full = Lock::acquire(&folder.path().join("full.lock"), "", "").unwrap();
        let message = full.create(9, Sync::Off).err().unwrap().to_string();
        assert!(message.starts_with("another run of all tests writes there"), "{message}");
        assert!(message.contains("; give this run a folder of its own"), "{message}");
    }
}
