//! Each kind of argument reaches the kernel.

use bytemuck::{Pod, Zeroable};
use clmatrix::launch::{AddressQualifier, TypeQualifiers};

use super::*;

/// With and without what the driver tells of arguments.
#[rstest]
#[clmatrix_harness::test]
fn kernels_get_scalars_of_all_sizes(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    const SOURCE: &str = "
        kernel void k(
            global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h,
            float i
        ) {
            out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e;
            out[5] = f; out[6] = g; out[7] = (long) h; out[8] = (long) (i * 8);
        }";
    let mut kernel = on_device.kernel(SOURCE, options)?;
    assert_eq!((kernel.name(), kernel.num_args()), ("k", 10));
    let out = Buffer::new(&on_device.context, MemFlags::WRITE_ONLY, 72)?;
    let mut launch = kernel.launch();
    launch.arg(&out).arg(-1_i8).arg(u8::MAX).arg(-300_i16).arg(u16::MAX).arg(i32::MIN);
    launch.arg(u32::MAX).arg(i64::MIN + 1).arg(1_u64 << 62).arg(-2.125_f32).global(1);
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { launch.enqueue(&on_device.queue)? };
    let (min, max) = (i64::from(i32::MIN), i64::from(u32::MAX));
    let expected = [-1, 255, -300, 65535, min, max, i64::MIN + 1, 1 << 62, -17];
    assert_eq!(out.to_vec::<i64>(&on_device.queue)?, expected);
    Ok(())
}

#[clmatrix_harness::test(requires(fp64))]
fn kernels_get_doubles(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let source = "kernel void k(global double *out, double a, double2 b) { *out = a + b.x * b.y; }";
    let mut kernel = known(&on_device, source)?;
    let out = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 8)?;
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { kernel.launch().arg(&out).arg(0.1).arg([2.0, 3.5]).global(1).enqueue(queue)? };
    assert_eq!(out.to_vec::<f64>(queue)?, [7.1]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn kernels_get_vectors_of_all_widths(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    const SOURCE: &str = "
        kernel void k(global uint *out, uint2 a, uint3 b, uint4 c, uint8 d, uint16 e, uchar4 f) {
            vstore2(a, 0, out);
            vstore3(b, 0, out + 2);
            vstore4(c, 0, out + 5);
            vstore8(d, 0, out + 9);
            vstore16(e, 0, out + 17);
            vstore4(convert_uint4(f), 0, out + 33);
        }";
    let mut kernel = on_device.kernel(SOURCE, options)?;
    let out = buffer_of(&on_device, &[0; 37])?;
    let eight: [u32; 8] = std::array::from_fn(|i| i as u32 + 9);
    let sixteen: [u32; 16] = std::array::from_fn(|i| i as u32 + 17);
    let mut launch = kernel.launch();
    launch.arg(&out).arg([0_u32, 1]).arg([2_u32, 3, 4, 99]).arg([5_u32, 6, 7, 8]);
    launch.arg(eight).arg(sixteen).arg([33_u8, 34, 35, 36]).global(1);
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, counting(37));
    Ok(())
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Line {
    from: [i32; 4],
    slope: f32,
    tag: u16,
    flags: [u8; 2],
    more: [u64; 8],
}

// SAFETY: zeros are numbers.
unsafe impl Zeroable for Line {}
// SAFETY: all of it are numbers, without gaps.
unsafe impl Pod for Line {}

#[rstest]
#[clmatrix_harness::test]
fn kernels_get_structures(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    const SOURCE: &str = "
        typedef struct { int from[4]; float slope; ushort tag; uchar flags[2]; ulong more[8]; } Line;
        kernel void k(global uint *out, Line line) {
            out[0] = line.from[3]; out[1] = line.slope * 2; out[2] = line.tag;
            out[3] = line.flags[1]; out[4] = line.more[7];
        }";
    let mut kernel = on_device.kernel(SOURCE, options)?;
    let out = buffer_of(&on_device, &[0; 5])?;
    let more = [0, 0, 0, 0, 0, 0, 0, 11];
    let line = Line { from: [0, 0, 0, 7], slope: 4.0, tag: 9, flags: [0, 10], more };
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { kernel.launch().arg(&out).arg(line).global(1).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, [7, 8, 9, 10, 11]);
    Ok(())
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    first: i64,
    second: i32,
    padding: i32,
}

// SAFETY: zeros are numbers.
unsafe impl Zeroable for Padded {}
// SAFETY: all of it are numbers, without gaps.
unsafe impl Pod for Padded {}

// quirk: RUSTICL-12
#[clmatrix_harness::test]
fn a_structure_may_end_with_padding(on_device: OnDevice) -> Result<()> {
    const SOURCE: &str = "
        typedef struct { long first; int second; } Padded;
        kernel void k(global long *out, Padded it) { out[0] = it.first; out[1] = it.second; }";
    let mut kernel = on_device.kernel(SOURCE, "")?;
    let out = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[0_i64; 2])?;
    let padded = Padded { first: 5, second: 6, padding: 0 };
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { kernel.launch().arg(&out).arg(padded).global(1).enqueue(&on_device.queue)? };
    assert_eq!(out.to_vec::<i64>(&on_device.queue)?, [5, 6]);
    Ok(())
}

#[clmatrix_harness::test]
fn kernels_get_constant_buffers_and_sub_buffers(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let source = "kernel void k(constant uint *x, global uint *y) {
        y[get_global_id(0)] += 100 * x[get_global_id(0)];
    }";
    let mut kernel = known(&on_device, source)?;
    let data = Buffer::from_slice(&on_device.context, MemFlags::READ_ONLY, &[1_u32, 2, 3, 4])?;
    let whole = buffer_of(&on_device, &counting(part as u32))?;
    let region = whole.sub_buffer(part..2 * part)?;
    // SAFETY: the arguments are those that the kernel declares, and each has 4 elements.
    unsafe { kernel.launch().arg(&data).arg(&region).global(4).enqueue(&on_device.queue)? };
    let (first, found) = (part as u32 / 4, contents(&on_device, &whole)?);
    let wanted: Vec<u32> = (0..4).map(|i| first + i + 100 * (i + 1)).collect();
    assert_eq!(found[part / 4..part / 4 + 4], wanted);
    assert_eq!(found[..4], [0, 1, 2, 3]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn kernels_get_null_buffers(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    let source =
        "kernel void k(global uint *maybe, global uint *out) { *out = maybe ? *maybe : 5; }";
    let mut kernel = on_device.kernel(source, options)?;
    let (some, out) = (buffer_of(&on_device, &[3])?, buffer_of(&on_device, &[0])?);
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { kernel.launch().arg(NullBuffer).arg(&out).global(1).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, [5]);
    // SAFETY: as above.
    unsafe { kernel.launch().arg(&some).arg(&out).global(1).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, [3]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn kernels_get_local_memory(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    const SOURCE: &str = "
        kernel void k(global uint *x, local uint *group, local uint *sum) {
            size_t i = get_local_id(0), last = get_local_size(0) - 1;
            group[i] = x[get_global_id(0)];
            if (i == 0) *sum = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_add(sum, group[i]);
            barrier(CLK_LOCAL_MEM_FENCE);
            x[get_global_id(0)] = group[last - i] + 100 * *sum;
        }";
    let mut kernel = on_device.kernel(SOURCE, options)?;
    on_device.needs_work_group(&kernel, 4)?;
    let x = buffer_of(&on_device, &counting(8))?;
    let mut launch = kernel.launch();
    launch.arg(&x).arg(LocalMemory::of::<u32>(4)).arg(LocalMemory::bytes(4)).global(8).local(4);
    // SAFETY: the arguments are those that the kernel declares, with an element for each work item.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &x)?, [603, 602, 601, 600, 2207, 2206, 2205, 2204]);
    Ok(())
}

/// One kernel gets coarse-grain memory whole; what it wrote is copied to a buffer by another.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn kernels_get_svm_pointers(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    let mut count = on_device.kernel(
        "kernel void k(global uint *x) { x[get_global_id(0)] = get_global_id(0); }",
        options,
    )?;
    let mut copy = on_device.kernel(
        "kernel void k(global const uint *from, global uint *to) {
            to[get_global_id(0)] = from[get_global_id(0)];
        }",
        options,
    )?;
    let memory = SvmAllocation::new(&on_device.context, 64, 0, SvmFlags::READ_WRITE)?;
    let out = buffer_of(&on_device, &[0; 16])?;
    // SAFETY: the arguments are those that the kernels declare, with an element for each work item.
    unsafe {
        count.launch().arg(&memory).global(16).enqueue(&on_device.queue)?;
        copy.launch().arg_read(&memory).arg(&out).global(16).enqueue(&on_device.queue)?;
    }
    assert_eq!(contents(&on_device, &out)?, counting(16));
    Ok(())
}

/// The kernel finds the pointer among its numbers.
#[clmatrix_harness::test(requires(svm))]
fn kernels_follow_pointers_in_svm(on_device: OnDevice) -> Result<()> {
    const SOURCE: &str = "
        kernel void k(ulong address, global uint *out) {
            global uint *x = (global uint *) address;
            size_t i = get_global_id(0);
            if (out) out[i] = x[i] + 1; else x[i] = 7 * i;
        }";
    let mut kernel = known(&on_device, SOURCE)?;
    let queue = &on_device.queue;
    let memory = SvmAllocation::new(&on_device.context, 64, 0, SvmFlags::READ_WRITE)?;
    let address = memory.svm_ptr() as u64;
    let out = buffer_of(&on_device, &[0; 16])?;
    // SAFETY: the arguments are those that the kernel declares, with an element for each work item,
    // and the memory behind the address is passed, too.
    unsafe {
        let mut launch = kernel.launch();
        launch.arg(address).arg(NullBuffer).indirect(&memory).global(16).enqueue(queue)?;
        let mut launch = kernel.launch();
        launch.arg(address).arg(&out).indirect(&memory).global(16).enqueue(queue)?;
    }
    let expected: Vec<u32> = (0..16).map(|i| 7 * i + 1).collect();
    assert_eq!(contents(&on_device, &out)?, expected);
    // A launch that has none does not keep those of the one before.
    drop(memory);
    let other = buffer_of(&on_device, &[3; 16])?;
    let mut copy = on_device.kernel(
        "kernel void k(global const uint *from, global uint *to) {
            to[get_global_id(0)] += from[get_global_id(0)];
        }",
        "",
    )?;
    let memory = SvmAllocation::new(&on_device.context, 64, 0, SvmFlags::READ_WRITE)?;
    // SAFETY: as above.
    unsafe {
        copy.launch().arg_read(&out).arg(&other).indirect(&memory).global(16).enqueue(queue)?;
        queue.finish()?;
        drop(memory);
        copy.launch().arg_read(&out).arg(&other).global(16).enqueue(queue)?;
    }
    let expected: Vec<u32> = (0..16).map(|i| 3 + 2 * (7 * i + 1)).collect();
    assert_eq!(contents(&on_device, &other)?, expected);
    Ok(())
}

/// An argument may be a pointer and a memory object in turn.
// quirk: NVIDIA-7
#[clmatrix_harness::test(requires(svm))]
fn an_argument_is_svm_and_a_buffer_in_turn(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global uint *x, global uint *y) { x[0] += 1; y[0] += 10; }";
    let mut kernel = known(&on_device, source)?;
    let buffer = buffer_of(&on_device, &[0])?;
    let svm = SvmAllocation::new(&on_device.context, 4, 0, SvmFlags::READ_WRITE)?;
    enqueue_fill(&on_device.queue, &svm, &0_u32, ..)?;
    for _ in 0..3 {
        // SAFETY: the arguments are those that the kernel declares, with an element each.
        unsafe {
            kernel.launch().arg(&svm).arg(&buffer).global(1).enqueue(&on_device.queue)?;
            kernel.launch().arg(&buffer).arg(&svm).global(1).enqueue(&on_device.queue)?;
        }
    }
    assert_eq!(contents(&on_device, &buffer)?, [33]);
    assert_eq!(svm.map_read::<u32>(&on_device.queue, ..)?[..], [33]);
    Ok(())
}

#[clmatrix_harness::test]
fn kernels_get_many_arguments(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(
        global uint *out, uint a, uint b, uint c, uint d, uint e, uint f, uint g, uint h, uint i,
        global uint *p, global uint *q, global uint *r, global uint *s, global uint *t,
        global uint *u, global uint *v, global uint *w
    ) {
        out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g;
        out[7] = h; out[8] = i; out[9] = *p; out[10] = *q; out[11] = *r; out[12] = *s;
        out[13] = *t; out[14] = *u; out[15] = *v; out[16] = *w;
    }";
    let mut kernel = known(&on_device, source)?;
    let out = buffer_of(&on_device, &[0; 17])?;
    let inputs: Vec<Buffer> =
        (9..17).map(|i| buffer_of(&on_device, &[i])).collect::<Result<_>>()?;
    let mut launch = kernel.launch();
    launch.arg(&out).global(1);
    for i in 0..9_u32 {
        launch.arg(i);
    }
    for input in &inputs {
        launch.arg_read(input);
    }
    // SAFETY: the arguments are those that the kernel declares.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, counting(17));
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_without_arguments_is_launched(on_device: OnDevice) -> Result<()> {
    let mut kernel = known(&on_device, NOTHING)?;
    assert_eq!(kernel.num_args(), 0);
    // SAFETY: the kernel does nothing.
    let event = unsafe { kernel.launch().global(4).enqueue(&on_device.queue)? };
    event.wait()?;
    Ok(())
}

#[clmatrix_harness::test]
fn arg_info_has_the_arguments_of_a_kernel(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global volatile uint *restrict a, constant float *b, local int *c, float4 d) {}";
    let kernel = known(&on_device, source)?;
    let infos: Vec<_> = kernel
        .arg_infos()
        .iter()
        .map(|info| (info.name.as_str(), info.type_name.as_str(), info.address))
        .collect();
    let expected = [
        ("a", "uint*", AddressQualifier::Global),
        ("b", "float*", AddressQualifier::Constant),
        ("c", "int*", AddressQualifier::Local),
        ("d", "float4", AddressQualifier::Private),
    ];
    assert_eq!(infos, expected);
    let info = &kernel.arg_infos()[0];
    let expected = TypeQualifiers::VOLATILE | TypeQualifiers::RESTRICT;
    assert_eq!((info.type_qualifiers, info.access), (expected, None));
    Ok(())
}
