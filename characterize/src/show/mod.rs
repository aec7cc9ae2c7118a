//! Characterizations as text, tables and curves.

pub mod compare;
pub mod curve;
pub mod markdown;
mod side_by_side;
pub mod svg;
pub mod terminal;
pub mod text_table;
