use serde::{Deserialize, Serialize};

use super::TOP_FRAMES;
use super::frame::{FRAMES_LEFT_OUT, Frame};

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
    pub(super) fn top(
        &self,
        alike: usize,
        shorten: impl Fn(&str) -> String,
    ) -> impl Iterator<Item = String> {
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
