//! Devices of several drivers in one process.

use clmatrix::{CommandQueue, Context, Device, Error, Platform, Program, QueueProperties, Result};

/// Drivers read the handles of other drivers as their own.
#[test]
fn devices_of_other_platforms_are_refused() -> Result<()> {
    let platforms = Platform::all()?.into_iter().map(|platform| platform.devices());
    let devices: Vec<Device> =
        platforms.filter_map(|devices| devices.ok()?.into_iter().next()).collect();
    for own in &devices {
        let context = Context::new([own])?;
        let source = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }";
        let kernel = Program::build(&context, source)?.kernel("twice")?;
        assert!(kernel.work_group_info(own)?.max_size > 0);
        for other in devices.iter().filter(|other| *other != own) {
            let refused = [
                kernel.work_group_info(other).map(drop),
                CommandQueue::on_device(&context, other, QueueProperties::empty()).map(drop),
                Context::new([own, other]).map(drop),
                Program::builder(&context)
                    .source(source)
                    .devices(std::slice::from_ref(other))
                    .build()
                    .map(drop),
            ];
            for (call, result) in refused.into_iter().enumerate() {
                let name = result.as_ref().map_err(Error::to_string);
                assert!(
                    name.is_err_and(|text| text.contains("CL_INVALID_DEVICE")),
                    "call {call} with {own:?} and {other:?}"
                );
            }
        }
    }
    Ok(())
}
