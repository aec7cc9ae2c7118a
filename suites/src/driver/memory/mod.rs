//! Each kind of memory with each command and each kind of host memory, against a model of all bytes: those of both
//! operands, and of the memory around a part (5.2, 5.5, 5.6).

mod commands;
mod maps;
mod model;
mod svm;
mod target;

use super::prelude::*;
use crate::support::pattern::{bytes, same};

pub use commands::{Command, expect};
pub use model::*;
pub use target::*;
