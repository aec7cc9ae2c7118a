use nix::sys::stat::{Mode, umask};

use super::LeftBehind;

/// The permissions that new files do not get.
pub struct Umask(Mode);

impl Umask {
    pub fn now() -> Self {
        // The mask cannot be read without a change. Files that another thread creates meanwhile
        // are private to the user.
        let mask = umask(Mode::S_IRWXG | Mode::S_IRWXO);
        umask(mask);
        Self(mask)
    }

    pub fn restore(&self, left: &mut LeftBehind) {
        let now = umask(self.0);
        if now != self.0 {
            left.add(format!("umask {:03o} -> {:03o}", self.0.bits(), now.bits()), true);
        }
    }
}
