//! The native stacks of a worker that hangs or crashes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::serde_time::is_default;
use crate::text::counted;
use crate::verdict::Location;

/// The name of the thread that runs the tests, where it is not the main thread.
pub const WORKER_THREAD: &str = "clmatrix-worker";

/// The most threads whose stacks are taken.
pub const MOST_THREADS: usize = 32;

/// The most frames of a thread. The frames between the innermost and the outermost ones of a deeper stack are left out.
pub const MOST_FRAMES: usize = 96;

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
    #[serde(default, skip_serializing_if = "is_default")]
    pub more_threads: u32,
    /// The reason why there are no stacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Stacks {
    /// Returns the record of stacks that could not be taken.
    pub fn none(reason: impl fmt::Display) -> Self {
        Self { error: Some(format!("no stacks: {reason}")), ..Self::default() }
    }

    /// Returns the innermost frames of threads as short lines, after titles, or the reason why there are none: of the
    /// thread that crashed, or of the first one and all others with a place in the source. `shorten` cuts the name of a
    /// function.
    pub fn top(&self, shorten: impl Fn(&str) -> String) -> Vec<String> {
        let groups = self.groups();
        let Some(((first, alike), others)) = groups.split_first() else {
            return self.error.iter().cloned().collect();
        };
        let mut lines: Vec<_> = first.top(*alike, &shorten).collect();
        if first.crash.is_none() {
            let has_place = |(thread, _): &&(&ThreadStack, usize)| {
                thread.frames.iter().any(|frame| frame.location.is_some())
            };
            let (shown, folded): (Vec<_>, Vec<_>) = others.iter().partition(has_place);
            lines.extend(shown.iter().flat_map(|(thread, alike)| thread.top(*alike, &shorten)));
            let folded: usize = folded.iter().map(|(_, alike)| 1 + alike).sum();
            let folded = folded + self.more_threads as usize;
            if folded > 0 {
                lines.push(format!(
                    "{}, without a place in the source",
                    counted(folded, "more thread")
                ));
            }
        }
        lines
    }

    /// Returns the threads, those with equal frames once, with the number of the others.
    fn groups(&self) -> Vec<(&ThreadStack, usize)> {
        let mut groups: Vec<(&ThreadStack, usize)> = Vec::new();
        for thread in &self.threads {
            let is_alike = |(other, _): &&mut (&ThreadStack, usize)| {
                other.frames == thread.frames && other.crash.is_none() && thread.crash.is_none()
            };
            match groups.iter_mut().find(is_alike) {
                Some((_, alike)) => *alike += 1,
                None => groups.push((thread, 0)),
            }
        }
        groups
    }
}

impl fmt::Display for Stacks {
    /// Writes all threads, those with equal frames once, a line for each frame.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (thread, alike) in self.groups() {
            thread.lines(alike).try_for_each(|line| writeln!(f, "{line}"))?;
        }
        if self.more_threads > 0 {
            writeln!(f, "{} more threads", self.more_threads)?;
        }
        self.error.iter().try_for_each(|error| writeln!(f, "{error}"))
    }
}

/// The native stack of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStack {
    /// The id of the thread.
    pub id: u32,
    /// The name of the thread.
    pub name: String,
    /// The signal that ends the process, and the address of the access: `SIGSEGV at 0x0`. Absent for
    /// threads that did not crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash: Option<String>,
    /// The frames, the innermost first.
    pub frames: Vec<Frame>,
    /// The reason why outer frames are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ThreadStack {
    /// Returns a title and the frames, a line each, for this thread and `alike` others.
    pub fn lines(&self, alike: usize) -> impl Iterator<Item = String> {
        let is_innermost = |frame: &&Frame| frame.function() != FRAMES_LEFT_OUT;
        let known = self.frames.iter().take_while(is_innermost).count();
        let frames =
            self.frames.iter().enumerate().map(move |(number, frame)| match number < known {
                true => format!("  #{number} {frame}"),
                false => format!("  {frame}"),
            });
        let error = self.error.iter().map(|error| format!("  ({error})"));
        [self.title(alike)].into_iter().chain(frames).chain(error)
    }

    /// Returns a title and the innermost frames as short lines. Leaves out those of a runtime that ends its
    /// process.
    fn top(&self, alike: usize, shorten: impl Fn(&str) -> String) -> impl Iterator<Item = String> {
        let of_abort = self.frames.iter().take_while(|frame| frame.is_of_abort()).count();
        let is_abort = self.crash.is_some() && of_abort < self.frames.len();
        let first = if is_abort { of_abort } else { 0 };
        let frames = self.frames.iter().enumerate().skip(first).take(TOP_FRAMES);
        let lines = frames.map(move |(number, frame)| {
            format!("  #{number} {}{}", shorten(frame.function()), frame.place())
        });
        [self.title(alike)].into_iter().chain(lines)
    }

    fn title(&self, alike: usize) -> String {
        let crash = self.crash.as_ref().map_or_else(String::new, |crash| format!(", {crash}"));
        let alike = if alike > 0 { format!(", and {alike} like it") } else { String::new() };
        format!("thread {} `{}`{crash}{alike}:", self.id, self.name)
    }
}

/// A frame of a native stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frame {
    /// The function, if there is a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The place in the source, if there is debug information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The path of the executable or library, if the address lies in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The address in the file of the module, or in memory where there is no module, in hexadecimal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub address: String,
}

/// The name of a frame in place of those between the innermost and the outermost ones of a deep stack.
pub const FRAMES_LEFT_OUT: &str = "<frames between are left out>";

/// The beginnings of functions that end a process after a failure.
const ABORTING: [&str; 11] = [
    "__assert_fail",
    "__pthread_kill",
    "abort",
    "core::panicking::",
    "gsignal",
    "pthread_kill",
    "raise",
    "rust_begin_unwind",
    "std::panicking::",
    "std::process::abort",
    "std::sys::",
];

impl Frame {
    /// Returns whether this frame may belong to the code by which a runtime ends its process.
    fn is_of_abort(&self) -> bool {
        match &self.function {
            Some(function) => ABORTING.iter().any(|start| function.starts_with(start)),
            None => self.module_name().is_some_and(|name| name.starts_with("libc.")),
        }
    }

    /// Returns the name of the file of the module.
    fn module_name(&self) -> Option<&str> {
        let module = self.module.as_deref()?;
        Some(module.rsplit_once('/').map_or(module, |(_, name)| name))
    }

    /// Returns the name of the function.
    fn function(&self) -> &str {
        self.function.as_deref().unwrap_or("?")
    }

    /// Returns the place in the source, if it is known, else that in the module: ` at FILE:LINE`.
    fn place(&self) -> String {
        match &self.location {
            Some(Location { file, line }) => format!(" at {file}:{line}"),
            None => self.address(),
        }
    }

    /// Returns the module and the address: ` (MODULE+ADDRESS)`.
    fn address(&self) -> String {
        match (self.module_name(), self.address.as_str()) {
            (Some(module), address) => format!(" ({module}+{address})"),
            (None, "") => String::new(),
            (None, address) => format!(" ({address})"),
        }
    }
}

impl fmt::Display for Frame {
    /// Writes all known parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.function(), self.place())?;
        self.location.iter().try_for_each(|_| f.write_str(&self.address()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn frames_after_those_left_out_have_no_number() {
        let frames = vec![
            frame("deeper", "a", None),
            Frame { function: Some(FRAMES_LEFT_OUT.to_owned()), ..Frame::default() },
            frame("main", "a", None),
        ];
        let lines: Vec<_> = ThreadStack { frames, ..ThreadStack::default() }.lines(0).collect();
        let expected = ["  #0 deeper (a+0x1f)", &format!("  {FRAMES_LEFT_OUT}"), "  main (a+0x1f)"];
        assert_eq!(lines[1..], expected);
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
        assert_eq!(lines(&stacks).len(), 6 + 1);
        stacks.threads[0].frames.extend(vec![Frame::default(); 9]);
        assert_eq!(lines(&stacks).len(), 1 + TOP_FRAMES + 1);
        let none = Stacks::none("ptrace is forbidden");
        assert_eq!(lines(&none), ["no stacks: ptrace is forbidden"]);
    }

    #[test]
    fn threads_that_wait_are_folded() {
        let thread = |id, name: &str, frames: &[Frame]| ThreadStack {
            id,
            name: name.to_owned(),
            frames: frames.to_vec(),
            ..ThreadStack::default()
        };
        let waits = [frame("futex_wait", "libc.so.6", None), frame("pool", "libdriver.so", None)];
        let own = [frame("futex_wait", "libc.so.6", None), frame("join", "a", Some(3))];
        let threads = vec![
            thread(1, "main", &own),
            thread(2, "driver", &waits),
            thread(3, "test", &[frame("lock", "a", Some(9))]),
            thread(4, "driver", &waits),
            thread(5, "test", &[frame("lock", "a", Some(9))]),
        ];
        let stacks = Stacks { threads, more_threads: 0, error: None };
        let top = stacks.top(str::to_owned);
        let expected = [
            "thread 1 `main`:",
            "  #0 futex_wait (libc.so.6+0x1f)",
            "  #1 join at src/a.rs:3",
            "thread 3 `test`, and 1 like it:",
            "  #0 lock at src/a.rs:9",
            "2 more threads, without a place in the source",
        ];
        assert_eq!(top, expected);
        assert!(stacks.to_string().contains("thread 2 `driver`, and 1 like it:\n  #0 futex_wait"));
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
