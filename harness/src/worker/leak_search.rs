//! The way in which a worker finds leaks.

use clmatrix::Context;
use serde::{Deserialize, Serialize};

use super::kept_context;
use super::object_kind::ObjectKind;

/// The way in which a worker finds leaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeakSearch {
    /// The worker does not look for leaks.
    Off,
    /// The worker finds out which objects the driver counts.
    Unknown,
    /// The driver counts objects of these kinds.
    Known(Vec<ObjectKind>),
}

impl LeakSearch {
    /// Begins with the search for leaks. Returns the kinds that the driver counts, if they are known.
    /// Releases the context.
    pub(super) fn begin(self, context: Option<Context>) -> Option<Vec<ObjectKind>> {
        let kinds = match self {
            Self::Off => None,
            Self::Unknown => context.as_ref().map(ObjectKind::counted_in),
            Self::Known(kinds) => Some(kinds),
        };
        if kinds.as_ref().is_some_and(|kinds| !kinds.is_empty()) {
            kept_context::start();
        }
        kinds
    }
}
