//! The result of a test: each [`attempt`] is one execution with its outcome; the [`test_result`] that log and reports
//! have is the last attempt with its verdict, and the earlier ones.

pub mod attempt;
pub mod attempt_counts;
pub mod blame;
pub mod crash_cause;
pub mod not_run_reason;
pub mod test_id;
pub mod test_result;
pub mod worker_end;
