//! Compares runs: [`difference`] has the comparison of two [`side`]s, each of one or several runs; [`facts`] has
//! the machine, the drivers and the settings of a run, and [`speed`] the rule for slower and faster tests.

pub(crate) mod difference;
pub(crate) mod facts;
pub(crate) mod pages;
pub(crate) mod side;
pub(crate) mod speed;
pub(crate) mod standing;
