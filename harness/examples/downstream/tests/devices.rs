//! The kernels on every device: `cargo test --test devices`, or `cargo nextest run`.

use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::{fixture, rstest};

/// Fixtures build on each other, as everywhere in rstest.
#[fixture]
fn context(ctx_factory: CtxFactory) -> clmatrix::Context {
    ctx_factory().expect("a context on the device under test")
}

#[clmatrix_harness::test(requires(opencl = "1.2"), timeout = "30s")]
fn doubles(ctx_factory: CtxFactory) -> clmatrix::Result<()> {
    let context = ctx_factory()?;
    assert_eq!(downstream::scale(&context, &[1.5], 2.0)?, [3.0]);
    Ok(())
}

// With cases, by rstest.
#[rstest]
#[clmatrix_harness::test]
fn scales(ctx_factory: CtxFactory, #[values(1, 4096)] n: usize) -> clmatrix::Result<()> {
    let context = ctx_factory()?;
    let scaled = downstream::scale(&context, &vec![1.5; n], 2.0)?;
    assert_eq!(scaled, vec![3.0; n]);
    Ok(())
}

#[rstest]
#[case::nothing(0.0, 0.0)]
#[case::negative(-2.0, -3.0)]
#[ignore = "takes half a day"]
#[case::slowly(1e9, 1.5e9)]
#[clmatrix_harness::test]
fn scales_by(context: clmatrix::Context, #[case] factor: f32, #[case] result: f32) {
    assert_eq!(downstream::scale(&context, &[1.5], factor).unwrap(), [result]);
}

/// A fixture by type, for tests without rstest.
struct OnDevice {
    context: clmatrix::Context,
    queue: clmatrix::CommandQueue,
}

impl clmatrix_harness::Fixture for OnDevice {
    fn of_device_under_test() -> Self {
        let context = clmatrix::Context::of_device_under_test();
        let queue = clmatrix::CommandQueue::new(&context).expect("a queue");
        Self { context, queue }
    }
}

#[clmatrix_harness::test]
fn has_a_queue(on_device: OnDevice, device: clmatrix::Device) {
    assert_eq!(on_device.context.default_device().name(), device.name());
    assert!(on_device.queue.is_in_order());
}

#[clmatrix_harness::test(requires(images, extension = "cl_khr_never_heard_of"))]
fn needs_more_than_devices_have(_: CtxFactory) {
    unreachable!("skipped, with the reason in the report");
}

#[clmatrix_harness::test(once)]
fn needs_no_device() {
    assert_eq!(2 + 2, 4);
}

#[clmatrix_harness::test]
#[rstest]
#[should_panic(expected = "left == right")]
fn either_order_of_the_attributes_will_do(#[values(1)] one: i32) {
    assert_eq!(one, 2);
}

#[clmatrix_harness::test]
async fn may_be_async(ctx_factory: CtxFactory) -> clmatrix::Result<()> {
    async { ctx_factory().map(drop) }.await
}

/// Expected to fail in config/expectations/all.toml.
#[clmatrix_harness::test]
fn is_known_to_fail(_: CtxFactory) {
    panic!("as config/expectations/all.toml says");
}

clmatrix_harness::main!(config = "config");
