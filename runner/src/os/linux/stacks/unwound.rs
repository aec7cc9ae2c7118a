use std::path::Path;

use super::module::Module;
use super::symbols::Symbols;
use crate::stacks::{Frame, ThreadStack};

/// The stack of a thread, without names of functions.
pub struct Unwound {
    /// The stack, without frames.
    pub stack: ThreadStack,
    /// The addresses of the calls, the innermost first.
    pub addresses: Vec<u64>,
}

impl Unwound {
    /// Returns whether code of this file has started the thread: the outermost frame outside the library that creates
    /// threads is in the file. Returns false for a stack that is not whole.
    pub fn is_begun_by(&self, file: &Path, modules: &[Module]) -> bool {
        let is_file = |module: usize| Path::new(&modules[module].path) == file;
        let mut outermost = self.addresses.iter().rev().map(|at| Module::at(modules, *at));
        let Some(Some(first)) = outermost.next().filter(|_| self.stack.error.is_none()) else {
            return false;
        };
        let begin = outermost.find(|module| *module != Some(first)).flatten();
        is_file(first) || begin.is_some_and(is_file)
    }

    /// Leaves out the frames of the runtime that calls the code of a thread or test, which Rust's
    /// backtraces leave out, too.
    pub fn leave_out_runtime(&mut self, symbols: &Symbols<'_>) {
        let is_begin = |frame: &Frame| {
            let function = frame.function.as_deref().unwrap_or_default();
            function.ends_with("__rust_begin_short_backtrace")
        };
        let is_runtime = |address: &u64| symbols.at(*address).iter().any(is_begin);
        if let Some(begin) = self.addresses.iter().position(is_runtime) {
            self.addresses.truncate(begin);
            self.stack.error = None;
        }
    }

    /// Returns the frames with names.
    pub fn named(&self, symbols: &Symbols<'_>) -> ThreadStack {
        let frames = self.addresses.iter().flat_map(|address| symbols.at(*address));
        ThreadStack { frames: frames.cloned().collect(), ..self.stack.clone() }
    }
}
