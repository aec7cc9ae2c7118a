//! `cl_amd_copy_buffer_p2p`, which few drivers have.

use clmatrix::memory::enqueue_copy_buffer_p2p_amd;
use clmatrix::{Class, Device, Platform, Result};
use clmatrix_harness::device;
use rstest::rstest;

use crate::buffer::{DOUBLE, buffer_of, contents, counting, refusal};
use crate::support::on_device::{OnDevice, on_device};

const EXTENSION: &str = "cl_amd_copy_buffer_p2p";

fn platform_of(device: &Device) -> Result<Platform> {
    Ok(Platform::new(device.platform()?))
}

#[rstest]
#[clmatrix_harness::test]
fn a_p2p_copy_works_or_is_unsupported(on_device: OnDevice, device: Device) -> Result<()> {
    let platform = platform_of(&device)?;
    let (src, dst) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 6])?);
    let copied = enqueue_copy_buffer_p2p_amd(&platform, &on_device.queue, &src, &dst, None, []);
    let named = |extensions: String| extensions.split_whitespace().any(|name| name == EXTENSION);
    if named(platform.extensions()?) || named(device.extensions()?) {
        copied?;
        on_device.run(DOUBLE, &[&dst], 6)?;
        assert_eq!(contents(&on_device, &dst)?, [0, 2, 4, 6, 18, 18]);
    } else {
        let error = copied.expect_err("there is no such extension");
        assert_eq!(error.class(), Class::Unsupported, "{error}");
        for part in [EXTENSION, platform.name()?.trim_end_matches('\0')] {
            assert!(error.detail().contains(part), "{error}");
        }
        assert_eq!(contents(&on_device, &dst)?, [9; 6]);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn the_platform_of_another_device_is_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let none = Platform::new(std::ptr::null_mut());
    let refused = enqueue_copy_buffer_p2p_amd(&none, &on_device.queue, &buffer, &buffer, None, []);
    assert_eq!(refusal(refused), "CL_INVALID_PLATFORM");
    Ok(())
}
