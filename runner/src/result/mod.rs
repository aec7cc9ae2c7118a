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

pub use attempt::{Attempt, ContextUse};
pub use attempt_counts::AttemptCounts;
pub use blame::Blame;
pub use crash_cause::{CrashCause, ExitTime};
pub use not_run_reason::{NotRunReason, SpentBudget, StopCause};
pub use test_id::TestId;
pub use test_result::TestResult;
pub use worker_end::WorkerEnd;
