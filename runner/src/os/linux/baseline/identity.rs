use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::unistd::{Gid, ResGid, ResUid, Uid, getgroups, getresgid, getresuid};

use super::LeftBehind;

/// The ids of this process, and the root of its file system. A process that gives up a right does not get it back, and
/// nothing undoes a change.
pub struct Identity {
    users: [Uid; 3],
    groups: [Gid; 3],
    further_groups: Vec<Gid>,
    /// The device and the number of the root folder.
    root: Option<(u64, u64)>,
}

impl Identity {
    pub fn now() -> Self {
        let ResUid { real, effective, saved } = getresuid().expect("the kernel has the ids");
        let users = [real, effective, saved];
        let ResGid { real, effective, saved } = getresgid().expect("the kernel has the ids");
        let groups = [real, effective, saved];
        let further_groups = getgroups().unwrap_or_default();
        let root = fs::metadata("/").ok().map(|root| (root.dev(), root.ino()));
        Self { users, groups, further_groups, root }
    }

    /// Notes changes, which remain.
    pub fn compare(&self, left: &mut LeftBehind) {
        let now = Self::now();
        let [before, after] = [self, &now].map(|identity| identity.users.map(Uid::as_raw));
        if before != after {
            left.add(format!("user ids {before:?} -> {after:?}"), false);
        }
        let [before, after] = [self, &now].map(|identity| identity.groups.map(Gid::as_raw));
        if before != after {
            left.add(format!("group ids {before:?} -> {after:?}"), false);
        }
        if self.further_groups != now.further_groups {
            left.add("supplementary groups changed".to_owned(), false);
        }
        if self.root != now.root {
            left.add("root folder changed".to_owned(), false);
        }
    }
}
