//! Pixels between images, host memory and buffers (OpenCL 3.0, 5.3.3 and 5.3.5;
//! `pyopencl.enqueue_copy`).

use clmatrix::Result;
use clmatrix::memory::{Image, MemFlags, enqueue_copy};
use rstest::rstest;

use super::{RGBA_U32, places, seen, write_places};
use crate::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_kernel_sees_what_the_host_wrote(on_device: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::READ_ONLY, RGBA_U32, [7, 5])?;
    let places = places(&[7, 5]);
    enqueue_copy(&on_device.queue, &image, &places, .., [])?;
    assert_eq!(seen(&on_device, &image)?, places);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn the_host_reads_what_a_kernel_wrote(on_device: OnDevice) -> Result<()> {
    let image = Image::new(&on_device.context, MemFlags::WRITE_ONLY, RGBA_U32, [7, 5])?;
    write_places(&on_device, &image)?;
    let mut found = vec![[0_u32; 4]; 35];
    enqueue_copy(&on_device.queue, &mut found, &image, .., [])?;
    assert_eq!(found, places(&[7, 5]));
    Ok(())
}
