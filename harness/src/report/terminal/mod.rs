//! A run on the terminal while it goes on: the output of running tests.

pub mod echo;
