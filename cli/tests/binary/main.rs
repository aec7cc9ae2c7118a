//! The binary with all suites. Tests that need none but tests of their own are in `faults`.

#[path = "../docs/block.rs"]
mod block;
mod custom;
mod installed;
mod lost_device;
mod reported_faults;
mod same_tests;
mod shards;
mod unknown_driver;
mod wrong_driver;
