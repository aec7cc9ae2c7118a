use std::env;
use std::path::PathBuf;

use super::LeftBehind;

/// The working folder; `None` where it has been removed.
pub struct Folder(Option<PathBuf>);

impl Folder {
    pub fn now() -> Self {
        Self(env::current_dir().ok())
    }

    pub fn restore(&self, left: &mut LeftBehind) {
        let now = Self::now();
        if now.0 == self.0 {
            return;
        }
        let is_undone = self.0.as_ref().is_some_and(|folder| env::set_current_dir(folder).is_ok());
        left.add(format!("working folder {self} -> {now}"), is_undone);
    }
}

impl std::fmt::Display for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(folder) => write!(f, "{}", folder.display()),
            None => f.write_str("(removed)"),
        }
    }
}
