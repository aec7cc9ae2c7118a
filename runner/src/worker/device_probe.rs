//! The probe: a check that a device works.

use clmatrix::cl3::device::{
    CL_DEVICE_COMPILER_AVAILABLE, CL_DEVICE_DOUBLE_FP_CONFIG, CL_DEVICE_IMAGE_SUPPORT,
    get_device_data,
};
use clmatrix::memory::{
    Buffer, ChannelOrder, ChannelType, Image, ImageFormat, MemFlags, enqueue_fill,
};
use clmatrix::{CommandQueue, Context, Device, Error, Kernel, Program, UserEvent};

use crate::terminal::AnyError;
use crate::text::first_line;

/// The number of values that are written, changed by kernels and read back.
const VALUES: u32 = 1024;

/// The kernels of a probe, on a device that has a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernels {
    /// No kernel.
    None,
    /// The simplest kernel. A device on which other kinds fail can be tested.
    Simplest,
    /// A kernel of each kind that the device has: a driver must have all kinds to be installed.
    EachKind,
}

/// A kind of kernels. Its kernel `probe` adds 1 to each value.
struct Kind {
    name: &'static str,
    /// Returns the options of its compilation, if the device has this kind.
    options: fn(&Device) -> Result<Option<&'static str>, Error>,
    source: &'static str,
}

const KINDS: [Kind; 6] = [
    Kind {
        name: "a kernel",
        options: |_| Ok(Some("")),
        source: "kernel void probe(global uint *values) { values[get_global_id(0)] += 1; }",
    },
    Kind {
        name: "a kernel with local memory and a barrier",
        options: |_| Ok(Some("")),
        source: "kernel void probe(global uint *values) {
            local uint of_group;
            size_t i = get_global_id(0);
            if (get_local_id(0) == 0) of_group = 1;
            barrier(CLK_LOCAL_MEM_FENCE);
            values[i] += of_group;
        }",
    },
    Kind {
        name: "a kernel with atomic functions",
        options: |_| Ok(Some("")),
        source: "kernel void probe(global uint *values) { atomic_add(&values[get_global_id(0)], 1); }",
    },
    Kind {
        name: "a kernel with vectors and mathematical functions",
        options: |_| Ok(Some("")),
        source: "kernel void probe(global uint *values) {
            size_t i = get_global_id(0);
            float4 x = convert_float4((uint4)(values[i])) / 64.0f;
            uint4 rounded = convert_uint4_rte(log2(exp2(x)) * 64.0f);
            values[i] = rounded.w + (uint)sqrt(dot(sin(x), sin(x)) + dot(cos(x), cos(x)) - 2.5f);
        }",
    },
    Kind {
        name: "a kernel with doubles",
        options: |device| Ok(is_set(device, CL_DEVICE_DOUBLE_FP_CONFIG)?.then_some("")),
        source: "
            #pragma OPENCL EXTENSION cl_khr_fp64 : enable
            kernel void probe(global uint *values) {
                size_t i = get_global_id(0);
                double x = values[i];
                values[i] = convert_uint_rte(sqrt(x * x) + 1.0);
            }",
    },
    Kind {
        name: "a kernel in OpenCL C 3.0",
        options: |device| Ok((device.version().major == 3).then_some("-cl-std=CL3.0")),
        source: "kernel void probe(global uint *values) { values[get_global_id(0)] += 1; }",
    },
];

/// Adds the red part of a pixel to each value. Its image is an argument, so it is not a [`Kind`].
const WITH_IMAGE: &str = "
    constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    kernel void probe(global uint *values, read_only image2d_t image) {
        values[get_global_id(0)] += read_imageui(image, nearest, (int2)(0, 0)).x;
    }";

/// Returns whether a property of the device, a flag or bits, is not 0.
fn is_set(device: &Device, name: u32) -> Result<bool, Error> {
    let value = get_device_data(device.as_raw(), name)
        .map_err(|code| Error::from_call("clGetDeviceInfo", code))?;
    Ok(value.iter().any(|byte| *byte != 0))
}

/// Writes values to a buffer, changes them by kernels, if the device has a compiler, and reads them back.
///
/// # Errors
///
/// The first call that fails, or wrong values.
pub(super) fn probe(device: &Device, kernels: Kernels) -> Result<(), AnyError> {
    let context = Context::new([device])?;
    let queue = CommandQueue::new(&context)?;
    let mut values: Vec<u32> = (0..VALUES).collect();
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, size_of_val(&values[..]))?;
    buffer.write(&queue, &values)?;
    let mut added = 0;
    let mut check = |after: &str| -> Result<(), AnyError> {
        values.fill(0);
        buffer.read(&queue, &mut values)?;
        let mut pairs = values.iter().zip(added..);
        if let Some(position) = pairs.position(|(value, expected)| *value != expected) {
            let wrong = format!("{after}: wrong values are read back, from element {position} on");
            return Err(wrong.into());
        }
        added += 1;
        Ok(())
    };
    check("without a kernel")?;
    if kernels == Kernels::None || !is_set(device, CL_DEVICE_COMPILER_AVAILABLE)? {
        return Ok(());
    }
    let built = |source: &str, options: &str, name: &str| -> Result<Kernel, AnyError> {
        let program = Program::builder(&context).source(source).options(options).build();
        let program = program.map_err(|error| match &*first_line(error.detail()) {
            "" => format!("{name} does not build: no build log"),
            line => format!("{name} does not build: {line}"),
        });
        Ok(program?.kernel("probe")?)
    };
    let all = if kernels == Kernels::Simplest { &KINDS[..1] } else { &KINDS };
    for Kind { name, options, source } in all {
        if let Some(options) = options(device)? {
            let mut kernel = built(source, options, name)?;
            // SAFETY: the kernel has one argument, and each work item has an element.
            unsafe { kernel.launch().arg(&buffer).global(VALUES as usize).enqueue(&queue) }?;
            check(name)?;
        }
    }
    if kernels == Kernels::EachKind && is_set(device, CL_DEVICE_IMAGE_SUPPORT)? {
        let name = "a kernel with an image";
        let format = ImageFormat::new(ChannelOrder::Rgba, ChannelType::UnsignedInt32);
        let image = Image::builder(&context, format).flags(MemFlags::READ_ONLY).shape([1, 1]);
        let image = image.copy_from(&[[[1_u32, 0, 0, 0]]]).build()?;
        let mut kernel = built(WITH_IMAGE, "", name)?;
        let mut launch = kernel.launch();
        // SAFETY: the arguments are those of the kernel, and each work item has an element.
        unsafe { launch.arg(&buffer).arg(&image).global(VALUES as usize).enqueue(&queue) }?;
        check(name)?;
    }
    Ok(())
}

/// Waits for a fill, and after `note`, for one behind a user event, which is set meanwhile.
///
/// # Errors
///
/// The first call that fails.
pub(super) fn gate(device: &Device, note: impl FnOnce()) -> Result<(), AnyError> {
    let context = Context::new([device])?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4)?;
    enqueue_fill(&queue, &buffer, &1_u32, ..)?.wait()?;
    note();
    let gate = UserEvent::new(&context)?;
    let filled = enqueue_fill(queue.after(&gate), &buffer, &1_u32, ..)?;
    gate.set_complete()?;
    Ok(filled.wait()?)
}
