//! Plain calls of the driver, with the values, the order and the effects that OpenCL 3.0 names.
//!
//! The library works around some faults of drivers and never makes some calls; here, nothing stands
//! between a test and the driver but the loader. The calls are valid; `driver_errors` has the
//! invalid ones. A message names the call with its argument or query, the rule with its section of
//! the OpenCL 3.0 API specification, and the driver's answer.

mod arguments;
mod blocking;
mod events;
mod formats;
mod lives;
mod memory;
mod order;
mod prelude;
mod queries;
mod sizes;

use crate::plain_calls::{bench, command};
