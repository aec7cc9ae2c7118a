//! Compares runs: [`difference`] has the comparison of two [`side`]s, each of one or several runs, and
//! [`speed`] the rule for slower and faster tests.

pub(crate) mod difference;
pub(crate) mod pages;
pub(crate) mod side;
pub(crate) mod speed;
