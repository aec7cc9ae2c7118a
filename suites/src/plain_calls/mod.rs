//! Plain C calls of the driver, for `driver` and `driver_errors`: the functions, objects, queries, callbacks and
//! commands, and the fixture [`bench`](bench::Bench) with objects and operands.

pub mod api;
pub mod arguments;
pub mod bench;
pub mod callback;
pub mod command;
pub mod object;
pub mod prelude;
pub mod query;
