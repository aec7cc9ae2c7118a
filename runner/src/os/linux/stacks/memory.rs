use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::unistd::Pid;

/// The memory of another process.
pub struct Memory(File);

impl Memory {
    /// Opens the memory of a process. The caller may trace it.
    pub fn open(process: Pid) -> io::Result<Self> {
        File::open(format!("/proc/{process}/mem")).map(Self)
    }

    /// Reads a word.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// Reads a range.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }
}
