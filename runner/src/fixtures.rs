//! The arguments of a test, for the device under test.
//!
//! They carry PyOpenCL's names and meanings (`pyopencl.tools`, "Testing"). A process is bound to one device for its
//! whole life, so a fixture is right on any thread.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use clmatrix::{Context, Device, Platform};

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

/// Creates a context on the device, if this process is bound to one and the driver creates it.
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
/// The contexts are new, as those of PyOpenCL's `ctx_factory`, if the configuration has `contexts = "fresh"`. With
/// `contexts = "reuse"`, the first calls may return contexts of earlier tests of the worker: a context is kept if its
/// test has passed or skipped itself and has left nothing of it, neither references to the context, where the driver
/// counts them, nor objects of the library. Without the key, contexts are new on CPUs, and reused on GPUs and
/// accelerators, where a new context takes some 0.1 s. The contexts of a test with the option `fresh_context` are
/// always new.
// quirk: DRIVER-15
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CtxFactory;

impl CtxFactory {
    /// Returns the device of the contexts.
    ///
    /// # Panics
    ///
    /// If there is none, because the test has the option `once`.
    pub fn device(&self) -> Device {
        bound().device.clone()
    }
}

impl Deref for CtxFactory {
    type Target = dyn Fn() -> clmatrix::Result<Context>;

    fn deref(&self) -> &Self::Target {
        &context
    }
}

impl fmt::Debug for CtxFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CtxFactory")
            .field("device", &BOUND.get().map(|bound| bound.device.name()))
            .finish()
    }
}

fn context() -> clmatrix::Result<Context> {
    clmatrix::cache::clear_first_arg_caches();
    contexts::for_test(&bound().device)
}

/// A factory of contexts on the device under test; beside `#[rstest]`, the value of an argument of this name.
pub fn ctx_factory() -> CtxFactory {
    CtxFactory
}

/// The device under test; beside `#[rstest]`, the value of an argument of this name.
///
/// # Panics
///
/// If there is none, because the test has the option `once`.
pub fn device() -> Device {
    bound().device.clone()
}

/// The platform of the device under test; beside `#[rstest]`, the value of an argument of this name.
///
/// # Panics
///
/// If there is none, because the test has the option `once`.
pub fn platform() -> Platform {
    bound().platform
}

// `#[rstest]` expands an argument `device` to `device::default()`. These modules have that function in the place of
// rstest's `#[fixture]`, so that users without cases do not build rstest.

/// For `#[rstest]`.
#[doc(hidden)]
pub mod ctx_factory {
    pub use super::ctx_factory as default;
}

/// For `#[rstest]`.
#[doc(hidden)]
pub mod device {
    pub use super::device as default;
}

/// For `#[rstest]`.
#[doc(hidden)]
pub mod platform {
    pub use super::platform as default;
}

/// An argument of a test without `#[rstest]`, found by its type.
///
/// A test has any number of such arguments. They are [`CtxFactory`], [`Device`], [`Platform`], a [`Context`], and types
/// of your own:
///
/// ```ignore
/// use clmatrix_harness::Fixture;
///
/// struct OnDevice {
///     context: clmatrix::Context,
///     queue: clmatrix::CommandQueue,
/// }
///
/// impl Fixture for OnDevice {
///     fn of_device_under_test() -> Self {
///         let context = clmatrix::Context::of_device_under_test();
///         let queue = clmatrix::CommandQueue::new(&context).expect("a queue");
///         Self { context, queue }
///     }
/// }
///
/// #[clmatrix_harness::test]
/// fn queues_are_in_order(on_device: OnDevice) {
///     assert!(on_device.queue.is_in_order());
/// }
/// ```
///
/// With `#[rstest]`, the value of an argument is that of a function of its name with rstest's `#[fixture]`. It may call
/// the trait:
///
/// ```ignore
/// #[rstest::fixture]
/// fn on_device() -> OnDevice {
///     OnDevice::of_device_under_test()
/// }
///
/// #[rstest::rstest]
/// #[clmatrix_harness::test]
/// fn buffers_have_a_size(on_device: OnDevice, #[values(1, 4096)] size: usize) -> clmatrix::Result<()> {
///     // ...
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a test cannot have an argument of the type `{Self}`",
    label = "not a fixture",
    note = "implement `clmatrix_harness::Fixture` for the type; cases and values need `#[rstest::rstest]`"
)]
pub trait Fixture {
    /// Returns the value for the device under test.
    ///
    /// # Panics
    ///
    /// If there is none: the test fails with the message.
    fn of_device_under_test() -> Self;
}

impl Fixture for CtxFactory {
    fn of_device_under_test() -> Self {
        ctx_factory()
    }
}

impl Fixture for Context {
    fn of_device_under_test() -> Self {
        ctx_factory()().expect("the driver makes a context")
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
