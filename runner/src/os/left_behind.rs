//! The changes that a test leaves behind.

/// The most changes that are listed; a test can make any number.
const MOST_NOTES: usize = 20;

/// The changes that a test has left behind in its process.
#[derive(Debug, Default)]
pub struct LeftBehind {
    notes: Vec<String>,
    unlisted: usize,
    /// True if a change could not be undone.
    pub remains: bool,
}

impl LeftBehind {
    /// Adds a change such as `umask 022 -> 077`, and whether it is undone.
    pub fn add(&mut self, note: String, is_undone: bool) {
        if self.notes.len() < MOST_NOTES {
            self.notes.push(note);
        } else {
            self.unlisted += 1;
        }
        self.remains |= !is_undone;
    }

    /// Returns a line for each change, the first 20 of them.
    pub fn into_notes(mut self) -> Vec<String> {
        if self.unlisted > 0 {
            self.notes.push(format!("and {} more changes", self.unlisted));
        }
        self.notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_changes_are_counted() {
        let mut left = LeftBehind::default();
        (0..25).for_each(|number| left.add(format!("change {number}"), number != 24));
        assert!(left.remains);
        let notes = left.into_notes();
        assert_eq!(notes.len(), 21);
        assert_eq!(notes[19..], ["change 19", "and 5 more changes"]);
    }
}
