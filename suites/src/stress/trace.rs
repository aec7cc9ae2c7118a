//! The last commands of a thread, for reports.

use std::collections::VecDeque;

use super::*;

/// The number of commands that a report shows.
const SHOWN: usize = 20;

/// The last commands of a thread.
pub struct Trace {
    pub thread: usize,
    /// True if each command is printed before it runs.
    prints: bool,
    /// The number of commands, and the last ones.
    commands: Mutex<(usize, VecDeque<Command>)>,
}

impl Trace {
    pub fn new(thread: usize, prints: bool) -> Self {
        Self { thread, prints, commands: Mutex::default() }
    }

    /// Adds a command that is about to run.
    pub fn push(&self, command: &Command) {
        let mut commands = self.commands.lock().unwrap();
        let (count, last) = &mut *commands;
        if self.prints {
            eprintln!("thread {}, command {count}: {command:?}", self.thread);
        }
        *count += 1;
        last.push_back(command.clone());
        if last.len() > SHOWN {
            last.pop_front();
        }
    }

    /// The number of commands so far.
    pub fn count(&self) -> usize {
        self.commands.lock().unwrap().0
    }

    /// Prints the last commands; the last one may not have ended.
    pub fn print(&self) {
        let commands = self.commands.lock().unwrap();
        let (count, last) = &*commands;
        for (index, command) in (count - last.len()..).zip(last) {
            eprintln!("thread {}, command {index}: {command:?}", self.thread);
        }
    }
}
