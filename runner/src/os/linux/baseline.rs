//! The state of this process before its first test, to which it returns after each test.

mod children;
mod environment;
mod folder;
mod identity;
mod left_behind;
mod limits;
mod scheduling;
mod signals;
mod timers;
mod umask;

use children::Children;
use environment::Environment;
use folder::Folder;
use identity::Identity;
pub use left_behind::LeftBehind;
use limits::Limits;
use scheduling::Scheduling;
use signals::Signals;
use timers::Timers;
use umask::Umask;

/// The state that a test can change for the tests after it: resource limits, interval timers, signal mask and
/// dispositions, scheduling, umask, working folder, environment variables, ids, children.
///
/// A comparison that finds no change takes about 100 system calls: 62 dispositions, 16 limits,
/// and one to four of each other kind.
pub struct Baseline {
    limits: Limits,
    timers: Timers,
    signals: Signals,
    scheduling: Scheduling,
    umask: Umask,
    folder: Folder,
    environment: Environment,
    identity: Identity,
    children: Children,
}

impl Baseline {
    /// Returns the present state. The signal mask is that of the calling thread.
    pub fn now() -> Self {
        Self {
            limits: Limits::now(),
            timers: Timers::now(),
            signals: Signals::now(),
            scheduling: Scheduling::now(),
            umask: Umask::now(),
            folder: Folder::now(),
            environment: Environment::now(),
            identity: Identity::now(),
            children: Children::now(),
        }
    }

    /// Adds the children of this process to the baseline.
    pub fn keep_children(&mut self) {
        self.children.keep();
    }

    /// Undoes what a test has changed, on the thread that the baseline was taken on.
    pub fn restore(&mut self) -> LeftBehind {
        let mut left = LeftBehind::default();
        // First, since the other steps need memory and descriptors.
        self.limits.restore(&mut left);
        // Before the handlers of their signals.
        self.timers.restore(&mut left);
        self.signals.restore(&mut left);
        self.scheduling.restore(&mut left);
        self.umask.restore(&mut left);
        self.folder.restore(&mut left);
        self.environment.restore(&mut left);
        self.identity.compare(&mut left);
        self.children.end_others(&mut left);
        left
    }
}
