//! The native stacks of a worker that hangs or crashes.

mod frame;
mod thread_stack;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use frame::Frame;
pub use thread_stack::ThreadStack;

/// The most threads whose stacks are taken.
pub const MOST_THREADS: usize = 32;

/// The most frames of a thread.
pub const MOST_FRAMES: usize = 64;

/// The most frames on a terminal.
const TOP_FRAMES: usize = 10;

/// The native stacks of the threads of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stacks {
    /// The threads. The first has crashed, or runs the test that does not end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadStack>,
    /// The number of threads that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_threads: u32,
    /// The reason why there are no stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Stacks {
    /// Makes the record of stacks that could not be taken.
    pub fn none(reason: impl fmt::Display) -> Self {
        Self { error: Some(format!("no stacks: {reason}")), ..Self::default() }
    }

    /// Returns the innermost frames of the first thread as short lines, after a title, or the reason why
    /// there are none. `shorten` cuts the name of a function.
    pub fn top(&self, shorten: impl Fn(&str) -> String) -> Vec<String> {
        match self.threads.first() {
            Some(thread) => thread.top(shorten).collect(),
            None => self.error.iter().cloned().collect(),
        }
    }
}

impl fmt::Display for Stacks {
    /// All threads, a line for each frame.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thread in &self.threads {
            thread.lines().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        if self.more_threads > 0 {
            writeln!(f, "{} more threads", self.more_threads)?;
        }
        self.error.iter().try_for_each(|error| writeln!(f, "{error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Location;

    fn frame(function: &str, module: &str, line: Option<u32>) -> Frame {
        Frame {
            function: Some(function.to_owned()).filter(|name| !name.is_empty()),
            location: line.map(|line| Location { file: "src/a.rs".into(), line }),
            module: Some(format!("/lib/{module}")),
            address: "0x1f".to_owned(),
        }
    }

    fn aborted() -> Stacks {
        let frames = vec![
            frame("", "libc.so.6", None),
            frame("raise", "libc.so.6", None),
            frame("std::process::abort", "a", Some(9)),
            frame("caller", "a", Some(7)),
            frame("", "libdriver.so", None),
        ];
        let crash = Some("SIGABRT".to_owned());
        let error = Some("it ends here".to_owned());
        let main = ThreadStack { id: 7, name: "main".to_owned(), crash, frames, error };
        Stacks { threads: vec![main], more_threads: 2, error: None }
    }

    #[test]
    fn a_page_has_all_frames() {
        let expected = "\
thread 7 `main`, SIGABRT:
  #0 ? (libc.so.6+0x1f)
  #1 raise (libc.so.6+0x1f)
  #2 std::process::abort at src/a.rs:9 (a+0x1f)
  #3 caller at src/a.rs:7 (a+0x1f)
  #4 ? (libdriver.so+0x1f)
  (it ends here)
2 more threads
";
        assert_eq!(aborted().to_string(), expected);
    }

    #[test]
    fn a_terminal_has_the_innermost_frames_outside_abort() {
        let lines = |stacks: &Stacks| stacks.top(|function| function[..1].to_owned());
        let mut stacks = aborted();
        let top =
            ["thread 7 `main`, SIGABRT:", "  #3 c at src/a.rs:7", "  #4 ? (libdriver.so+0x1f)"];
        assert_eq!(lines(&stacks), top);
        // A thread that waits in the C library did not abort.
        stacks.threads[0].crash = None;
        assert_eq!(lines(&stacks).len(), 6);
        stacks.threads[0].frames.extend(vec![Frame::default(); 9]);
        assert_eq!(lines(&stacks).len(), 1 + TOP_FRAMES);
        let none = Stacks::none("ptrace is forbidden");
        assert_eq!(lines(&none), ["no stacks: ptrace is forbidden"]);
    }

    #[test]
    fn a_log_has_what_is_known() {
        let json = serde_json::to_value(Stacks::none("x")).unwrap();
        assert_eq!(json, serde_json::json!({ "error": "no stacks: x" }));
        let json = serde_json::to_string(&aborted()).unwrap();
        assert_eq!(serde_json::from_str::<Stacks>(&json).unwrap(), aborted());
        assert_eq!(serde_json::from_str::<Stacks>("{}").unwrap(), Stacks::default());
    }
}
