//! The arguments of a test: `ctx_factory`, `device` and `platform`, for the device under test.
//!
//! They carry PyOpenCL's names and meanings (`pyopencl.tools`, "Testing"). A process is bound to
//! one device for its whole life, so a fixture is right on whatever thread it is asked for.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use clmatrix::{Context, Device, Platform};
use rstest::fixture;

use crate::worker::contexts;

/// The device that this process is bound to.
pub(crate) struct Bound {
    pub platform: Platform,
    pub device: Device,
}

static BOUND: OnceLock<Bound> = OnceLock::new();

/// Binds this process to a device; the first call decides.
pub(crate) fn bind(bound: Bound) {
    BOUND.get_or_init(|| bound);
}

/// Makes a context on the device, if this process is bound to one and the driver makes it.
pub(crate) fn first_context() -> Option<Context> {
    Context::new([&BOUND.get()?.device]).ok()
}

fn bound() -> &'static Bound {
    BOUND.get().expect(
        "this test has no device: mark it #[clmatrix_harness::test], without `once`, to run it on each",
    )
}

/// Makes contexts on the device under test: `let context = ctx_factory()?;`.
///
/// Each call in a test returns another context on that one device, and clears [caches](clmatrix::cache)
/// before, because drivers limit the number of contexts. The worker may keep a reference of its own to each
/// context.
///
/// The contexts are new, as those of PyOpenCL's `ctx_factory`, if the configuration has
/// `contexts = "fresh"`. With `contexts = "reuse"`, the first calls may return contexts that earlier tests
/// of the worker have had: a context is kept if its test has passed or skipped itself and nothing of it is
/// left, neither references to the context, where the driver counts them, nor objects of the library. Without
/// the key, contexts are new on CPUs, and reused on GPUs and accelerators, where a new context takes some
/// 0.1 s. The contexts of a test with the option `fresh_context` are always new.
// quirk: DRIVER-15
#[derive(Clone, Copy)]
pub struct CtxFactory {
    make: fn() -> clmatrix::Result<Context>,
}

impl CtxFactory {
    /// The device that the contexts are for.
    pub fn device(&self) -> Device {
        bound().device.clone()
    }
}

impl Deref for CtxFactory {
    type Target = dyn Fn() -> clmatrix::Result<Context>;

    fn deref(&self) -> &Self::Target {
        &self.make
    }
}

impl fmt::Debug for CtxFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.device().name();
        write!(f, "<context factory for {name}>")
    }
}

fn context() -> clmatrix::Result<Context> {
    clmatrix::clear_first_arg_caches();
    contexts::for_test(&bound().device)
}

/// rstest's fixture of that name: a factory of contexts on the device under test.
#[fixture]
pub fn ctx_factory() -> CtxFactory {
    CtxFactory { make: context }
}

/// rstest's fixture of that name: the device under test.
#[fixture]
pub fn device() -> Device {
    bound().device.clone()
}

/// rstest's fixture of that name: the platform of the device under test.
#[fixture]
pub fn platform() -> Platform {
    bound().platform
}

/// An argument of a test without rstest, found by its type.
pub trait Fixture {
    /// The value for the device under test.
    fn of_device_under_test() -> Self;
}

impl Fixture for CtxFactory {
    fn of_device_under_test() -> Self {
        ctx_factory()
    }
}

impl Fixture for Device {
    fn of_device_under_test() -> Self {
        device()
    }
}

impl Fixture for Platform {
    fn of_device_under_test() -> Self {
        platform()
    }
}
