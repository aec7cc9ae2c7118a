//! Samplers (OpenCL 3.0, 5.7; `pyopencl.Sampler`): what they are, and what kernels read with them.

use std::collections::HashSet;

use clmatrix::cl3::error_codes::CL_INVALID_VALUE;
use clmatrix::memory::{
    AddressingMode, Buffer, ChannelOrder, ChannelType, FilterMode, Image, ImageFormat, MemFlags,
    Sampler, SamplerProperty,
};
use clmatrix::{Class, Device, Result};
use clmatrix_harness::CtxFactory;
use rstest::rstest;

use crate::buffer::{buffer_of, refusal};
use crate::support::gate::{gate, open};
use crate::support::on_device::{OnDevice, on_device, soon};
use crate::support::unanswered;

/// Reads pixels at each of the coordinates.
const READ: &str = "
    kernel void k(
        read_only image2d_t image, sampler_t how, float y, global const float *x, global float *out
    ) {
        size_t i = get_global_id(0);
        out[i] = read_imagef(image, how, (float2)(x[i], y)).x;
    }";

/// Returns the value that a kernel reads with `sampler` at `x`, between two rows of the pixels 10, 20, 30 and 40.
fn found(on_device: &OnDevice, sampler: &Sampler, x: &[f32]) -> Result<Vec<f32>> {
    let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::Float);
    let row = [10.0_f32, 20.0, 30.0, 40.0].map(|red| [red, 0.0, 0.0, 1.0]);
    let image = Image::builder(&on_device.context, format)
        .flags(MemFlags::READ_ONLY)
        .shape([4, 2])
        .copy_from(&[row, row])
        .build()?;
    let coordinates = Buffer::from_slice(&on_device.context, MemFlags::READ_ONLY, x)?;
    let out = Buffer::new(&on_device.context, MemFlags::WRITE_ONLY, size_of_val(x))?;
    let mut read = on_device.kernel(READ, "-cl-kernel-arg-info")?;
    let mut launch = read.launch();
    let between = if sampler.normalized_coords()? { 0.5_f32 } else { 1.0 };
    launch.arg(&image).arg(sampler).arg(between).arg(&coordinates).arg(&out).global(x.len());
    // SAFETY: the arguments are what the kernel declares, with an element for each work item.
    unsafe { launch.enqueue(&on_device.queue)? };
    let mut found = vec![0.0; x.len()];
    out.read(&on_device.queue, &mut found)?;
    Ok(found)
}

#[clmatrix_harness::test(requires(images))]
fn a_sampler_may_be_dropped_before_the_kernel_has_run(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::Float);
    let row = [10.0_f32, 20.0, 30.0, 40.0].map(|red| [red, 0.0, 0.0, 1.0]);
    let image = Image::builder(context, format).shape([4, 2]).copy_from(&[row, row]).build()?;
    let x = Buffer::from_slice(context, MemFlags::READ_ONLY, &[-0.5_f32, 1.5])?;
    let out = Buffer::new(context, MemFlags::WRITE_ONLY, 8)?;
    let mut read = on_device.kernel(READ, "-cl-kernel-arg-info")?;
    for _ in 0..20 {
        let gate = gate(context);
        let sampler = Sampler::new(context, false, ClampToEdge, Nearest)?;
        let mut launch = read.launch();
        launch.arg(&image).arg(&sampler).arg(1.0_f32).arg(&x).arg(&out).global(2);
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { launch.enqueue(queue.after(&gate))? };
        drop(launch);
        drop(sampler);
        // These may be where the first one was.
        let others = [0; 50].map(|_| Sampler::new(context, true, Repeat, Linear));
        open(&gate);
        let mut found = [0.0_f32; 2];
        out.read(queue, &mut found)?;
        assert_eq!(found, [10.0, 20.0]);
        others.into_iter().try_for_each(|sampler| sampler.map(drop))?;
    }
    Ok(())
}

use AddressingMode::{Clamp, ClampToEdge, MirroredRepeat, None as Inside, Repeat};
use FilterMode::{Linear, Nearest};

/// Coordinates and what is there.
type Expected = &'static [(f32, f32)];

#[rstest]
#[case::inside(false, Inside, Nearest, &[(0.5, 10.0), (1.25, 20.0), (3.75, 40.0)])]
#[case::inside_linear(false, Inside, Linear, &[(0.5, 10.0), (1.0, 15.0), (2.75, 32.5)])]
#[case::inside_normalized(true, Inside, Nearest, &[(0.125, 10.0), (0.3125, 20.0), (0.875, 40.0)])]
#[case::edge(false, ClampToEdge, Nearest, &[(-3.0, 10.0), (1.25, 20.0), (9.0, 40.0)])]
#[case::edge_linear(false, ClampToEdge, Linear, &[(0.0, 10.0), (2.0, 25.0), (4.0, 40.0)])]
#[case::edge_normalized(true, ClampToEdge, Nearest, &[(-0.5, 10.0), (0.625, 30.0), (2.0, 40.0)])]
#[case::border(false, Clamp, Nearest, &[(-1.5, 0.0), (0.5, 10.0), (3.5, 40.0), (6.5, 0.0)])]
#[case::border_linear(false, Clamp, Linear, &[(0.0, 5.0), (2.0, 25.0), (4.0, 20.0), (6.0, 0.0)])]
#[case::border_normalized(true, Clamp, Linear, &[(0.0, 5.0), (0.5, 25.0), (1.0, 20.0)])]
#[case::repeat(true, Repeat, Nearest, &[(-0.125, 40.0), (0.125, 10.0), (1.375, 20.0), (2.625, 30.0)])]
#[case::repeat_linear(true, Repeat, Linear, &[(0.0, 25.0), (0.5, 25.0), (1.25, 15.0)])]
#[case::mirrored(true, MirroredRepeat, Nearest, &[(-0.375, 20.0), (1.125, 40.0), (1.375, 30.0)])]
#[case::mirrored_linear(true, MirroredRepeat, Linear, &[(0.0, 10.0), (0.25, 15.0), (1.25, 35.0)])]
#[clmatrix_harness::test(requires(images))]
fn kernels_read_with_a_sampler(
    on_device: OnDevice,
    #[case] normalized: bool,
    #[case] addressing: AddressingMode,
    #[case] filter: FilterMode,
    #[case] expected: Expected,
) -> Result<()> {
    let (x, expected): (Vec<f32>, Vec<f32>) = expected.iter().copied().unzip();
    let sampler = Sampler::new(&on_device.context, normalized, addressing, filter)?;
    check_values(&found(&on_device, &sampler, &x)?, &expected, !normalized && filter == Nearest);
    Ok(())
}

/// Compares what a kernel has read. OpenCL defines the precision only without normalized coordinates and
/// filter: elsewhere, values may be wrong by a quarter of what neighbouring pixels differ by.
#[track_caller]
fn check_values(found: &[f32], expected: &[f32], is_exact: bool) {
    let bound = if is_exact { 0.0 } else { 2.5 };
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= bound;
    assert!(found.iter().zip(expected).all(near), "{found:?} instead of {expected:?}");
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn queries_return_the_properties_of_a_sampler(
    on_device: OnDevice,
    #[values(true, false)] normalized: bool,
    #[values(Inside, ClampToEdge, Clamp, Repeat, MirroredRepeat)] addressing: AddressingMode,
    #[values(Nearest, Linear)] filter: FilterMode,
) -> Result<()> {
    if !normalized && matches!(addressing, Repeat | MirroredRepeat) {
        // These need normalized coordinates.
        return Ok(());
    }
    let sampler = Sampler::new(&on_device.context, normalized, addressing, filter)?;
    assert_eq!(sampler.normalized_coords()?, normalized);
    assert_eq!(sampler.addressing_mode()?, addressing);
    assert_eq!(sampler.filter_mode()?, filter);
    assert_eq!(sampler.reference_count()?, 1);
    assert_eq!(sampler.context(), on_device.context);
    Ok(())
}

#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn a_sampler_is_created_with_properties(on_device: OnDevice) -> Result<()> {
    let all = [
        SamplerProperty::NormalizedCoords(true),
        SamplerProperty::AddressingMode(Repeat),
        SamplerProperty::FilterMode(Linear),
    ];
    let sampler = Sampler::with_properties(&on_device.context, &all)?;
    assert!(sampler.normalized_coords()?);
    assert_eq!((sampler.addressing_mode()?, sampler.filter_mode()?), (Repeat, Linear));
    check_values(&found(&on_device, &sampler, &[0.0, 1.125])?, &[25.0, 10.0], false);
    let pixels = [SamplerProperty::NormalizedCoords(false)];
    let sampler = Sampler::with_properties(&on_device.context, &pixels)?;
    assert!(!sampler.normalized_coords()?);
    assert_eq!((sampler.addressing_mode()?, sampler.filter_mode()?), (Clamp, Nearest));
    assert_eq!(found(&on_device, &sampler, &[2.5, 4.5])?, [30.0, 0.0]);
    let none = Sampler::with_properties(&on_device.context, &[])?;
    assert!(none.normalized_coords()?);
    assert_eq!((none.addressing_mode()?, none.filter_mode()?), (Clamp, Nearest));
    Ok(())
}

#[clmatrix_harness::test(requires(images, opencl = "3.0"))]
fn queries_return_the_given_properties(on_device: OnDevice) -> Result<()> {
    let linear = [SamplerProperty::FilterMode(Linear), SamplerProperty::NormalizedCoords(false)];
    let sampler = Sampler::with_properties(&on_device.context, &linear)?;
    assert_eq!(sampler.properties()?, [0x1154, 0x1141, 0x1152, 0, 0]);
    Ok(())
}

#[clmatrix_harness::test(requires(images, opencl = "2.0"))]
fn invalid_properties_are_refused(on_device: OnDevice, device: Device) -> Result<()> {
    let twice = [SamplerProperty::FilterMode(Linear), SamplerProperty::FilterMode(Nearest)];
    let result = Sampler::with_properties(&on_device.context, &twice);
    assert_eq!(refusal(result), "CL_INVALID_VALUE");
    if !device.opencl3().extensions().map_err(unanswered)?.contains("cl_khr_mipmap_image") {
        let result = Sampler::with_properties(&on_device.context, &[SamplerProperty::LodMin(1.0)]);
        let error = result.unwrap_err();
        assert_eq!(
            (error.class(), error.code_name()),
            (Class::Unsupported, "CL_INVALID_OPERATION")
        );
        assert!(error.detail().contains("cl_khr_mipmap_image"), "{error}");
    }
    Ok(())
}

/// The answer of a driver without mip levels.
#[clmatrix_harness::test(requires(images))]
fn mip_properties_are_returned_where_supported(on_device: OnDevice, device: Device) -> Result<()> {
    let sampler = Sampler::new(&on_device.context, true, Clamp, Nearest)?;
    let has_mip_levels =
        device.opencl3().extensions().map_err(unanswered)?.contains("cl_khr_mipmap_image");
    let answers = [
        sampler.mip_filter_mode().map(drop),
        sampler.lod_min().map(drop),
        sampler.lod_max().map(drop),
    ];
    for answer in answers {
        match answer {
            Ok(()) => assert!(has_mip_levels),
            Err(error) => assert!(!has_mip_levels && error.code() == CL_INVALID_VALUE, "{error}"),
        }
    }
    Ok(())
}

/// Images or none, OpenCL 2.0 or not: it is made, or the error says what is missing.
#[clmatrix_harness::test]
fn a_device_without_samplers_is_unsupported(on_device: OnDevice, device: Device) -> Result<()> {
    let is_1 = device.opencl3().version().map_err(unanswered)?.starts_with("OpenCL 1.");
    let images = device.opencl3().image_support().map_err(unanswered)?;
    let context = &on_device.context;
    for (result, can) in [
        (Sampler::new(context, true, Clamp, Nearest), images),
        (Sampler::with_properties(context, &[]), images && !is_1),
    ] {
        match result {
            Ok(_) => assert!(can),
            Err(error) => {
                assert!(!can, "{error}");
                assert_eq!(error.class(), Class::Unsupported, "{error}");
                assert_eq!(error.code_name(), "CL_INVALID_OPERATION");
            }
        }
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn handles_are_counted_and_compared(on_device: OnDevice) -> Result<()> {
    let sampler = Sampler::new(&on_device.context, true, Clamp, Nearest)?;
    let other = Sampler::new(&on_device.context, true, Repeat, Nearest)?;
    assert_eq!(sampler, sampler.clone());
    assert_ne!(sampler, other);
    #[expect(clippy::mutable_key_type, reason = "the handle alone is hashed")]
    let all = [sampler.clone(), other, sampler.clone()].into_iter().collect::<HashSet<_>>();
    assert_eq!(all.len(), 2);
    drop(all);
    // SAFETY: the handle is valid.
    let again = unsafe { Sampler::retain_raw(sampler.as_raw())? };
    assert_eq!(again, sampler);
    assert_eq!(again.addressing_mode()?, Clamp);
    assert_eq!(sampler.reference_count()?, 2);
    let raw = again.as_raw();
    std::mem::forget(again);
    // SAFETY: the handle is valid, and its reference is that of `again`.
    let taken = unsafe { Sampler::from_raw(raw)? };
    assert_eq!(sampler.reference_count()?, 2);
    drop(taken);
    assert!(soon(|| Ok(sampler.reference_count()? == 1))?, "{}", sampler.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn samplers_and_other_objects_are_not_interchangeable(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let sampler = Sampler::new(&on_device.context, true, Clamp, Nearest)?;
    let elsewhere = ctx_factory()?;
    let stranger = Sampler::new(&elsewhere, true, Clamp, Nearest)?;
    let buffer = buffer_of(&on_device, &[0; 4])?;
    let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::Float);
    let image = Image::new(&on_device.context, MemFlags::READ_ONLY, format, [4, 1])?;
    let mut read = on_device.kernel(READ, "-cl-kernel-arg-info")?;
    let queue = &on_device.queue;
    // SAFETY: all of it is refused.
    unsafe {
        let mut launch = read.launch();
        launch.arg(&image).arg(&stranger).arg(0.5_f32).arg(&buffer).arg(&buffer).global(1);
        assert_eq!(refusal(launch.enqueue(queue)), "CL_INVALID_CONTEXT");
        let mut launch = read.launch();
        launch.arg(&sampler).arg(&sampler).arg(0.5_f32).arg(&buffer).arg(&buffer).global(1);
        assert_eq!(refusal(launch.enqueue(queue)), "CL_INVALID_ARG_VALUE");
        let mut launch = read.launch();
        launch.arg(&buffer).arg(&sampler).arg(0.5_f32).arg(&buffer).arg(&buffer).global(1);
        assert_eq!(refusal(launch.enqueue(queue)), "CL_INVALID_ARG_VALUE");
        let mut launch = read.launch();
        launch.arg(&image).arg(&sampler).arg(0.5_f32).arg(&image).arg(&buffer).global(1);
        assert_eq!(refusal(launch.enqueue(queue)), "CL_INVALID_ARG_VALUE");
    }
    Ok(())
}
