//! The way in which a worker finds leaks.

use clmatrix::Context;
use serde::{Deserialize, Serialize};

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
    /// Returns the kinds of objects that the driver counts, if leaks are searched for and they are known.
    pub(super) fn counted(self, context: Option<&Context>) -> Option<Vec<ObjectKind>> {
        match self {
            Self::Off => None,
            Self::Unknown => context.map(ObjectKind::counted_in),
            Self::Known(kinds) => Some(kinds),
        }
    }
}
