//! The results of the workers of a device, which belong to no test.

/// An end of a worker that is a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerEnd {
    /// A crash that belongs to no test.
    Crash,
    /// A worker that does not end after its last test.
    Leave,
    /// A process of a worker or of another program with a wrong exit.
    Exit,
}

impl WorkerEnd {
    /// All ends.
    pub const ALL: [Self; 3] = [Self::Crash, Self::Leave, Self::Exit];

    /// Returns the path of the result.
    pub fn path(self) -> &'static str {
        match self {
            Self::Crash => "worker::crash",
            Self::Leave => "worker::leave",
            Self::Exit => "worker::exit",
        }
    }

    /// Returns the end with this path.
    pub fn of_path(path: &str) -> Option<Self> {
        // Most paths are those of tests.
        let is_of = |end: &Self| path.starts_with(OF_WORKER) && path == end.path();
        Self::ALL.into_iter().find(is_of)
    }
}

/// The beginning of the paths of these results. No suite has this name.
pub const OF_WORKER: &str = "worker::";
