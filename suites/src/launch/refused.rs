//! Launches that the library refuses before the driver sees them.

use super::*;

/// Takes one argument of each kind.
const EACH_KIND: &str = "
    kernel void k(global uint *a, uint b, float c, local uint *d, float4 e, short f) {}";

/// Enqueues what is expected to be refused.
fn enqueue(launch: &mut Launch<'_, '_>, on_device: &OnDevice) -> Result<Event> {
    enqueue_at(launch, &on_device.queue)
}

fn enqueue_at<'q>(launch: &mut Launch<'_, '_>, order: impl Into<Order<'q>>) -> Result<Event> {
    // SAFETY: it is refused, and the kernels of these tests do nothing with what would not be.
    unsafe { launch.enqueue(order) }
}

#[rstest]
#[clmatrix_harness::test]
fn a_wrong_number_of_arguments_is_refused(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
) -> Result<()> {
    let mut kernel = on_device.kernel(DOUBLE, options)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let none = enqueue(kernel.launch().global(4), &on_device);
    let text = none.as_ref().unwrap_err().to_string();
    assert!(text.contains("the kernel k has 1 arguments, 0 were given"), "{text}");
    assert_eq!(refusal(none), "CL_INVALID_KERNEL_ARGS");
    let two = enqueue(kernel.launch().arg(&buffer).arg(1_u32).global(4), &on_device);
    assert_eq!(refusal(two), "CL_INVALID_KERNEL_ARGS");
    // Nothing is left of it.
    enqueue(kernel.launch().arg(&buffer).global(4), &on_device)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    Ok(())
}

/// Launches `kernel`, which is [`EACH_KIND`], with the argument at `index` replaced.
fn with<'a>(
    kernel: &mut Kernel,
    on_device: &OnDevice,
    buffer: &'a Buffer,
    index: usize,
    replace: impl FnOnce(&mut Launch<'_, 'a>),
) -> Result<Event> {
    let mut launch = kernel.launch();
    launch.global(4).local(2);
    let mut replace = Some(replace);
    for i in 0..6 {
        match i {
            _ if i == index => replace.take().expect("it is called once")(&mut launch),
            0 => _ = launch.arg(buffer),
            1 => _ = launch.arg(1_u32),
            2 => _ = launch.arg(1.0_f32),
            3 => _ = launch.arg(LocalMemory::bytes(4)),
            4 => _ = launch.arg([1.0_f32; 4]),
            _ => _ = launch.arg(1_i16),
        }
    }
    enqueue(&mut launch, on_device)
}

/// PoCL would take the bits of whatever it gets.
#[clmatrix_harness::test]
fn the_arguments_of_a_source_are_known_without_an_option(on_device: OnDevice) -> Result<()> {
    let mut kernel = on_device.kernel("kernel void k(float a, float3 b, long c) {}", "")?;
    let (float, vector, long) = (1.0_f32, [1.0_f32; 4], 1_i64);
    for wrong in 0..3 {
        let mut launch = kernel.launch();
        _ = if wrong == 0 { launch.arg(5_i32) } else { launch.arg(float) };
        _ = if wrong == 1 { launch.arg([1_i32; 4]) } else { launch.arg(vector) };
        _ = if wrong == 2 { launch.arg(5.0_f64) } else { launch.arg(long) };
        let refused = refusal(enqueue(launch.global(1), &on_device));
        assert_eq!(refused, "CL_INVALID_ARG_VALUE", "argument {wrong}");
    }
    enqueue(kernel.launch().arg(float).arg(vector).arg(long).global(1), &on_device)?;
    Ok(())
}

#[clmatrix_harness::test]
fn arguments_of_another_size_are_refused(on_device: OnDevice) -> Result<()> {
    let mut kernel = known(&on_device, EACH_KIND)?;
    on_device.needs_work_group(&kernel, 2)?;
    let buffer = &buffer_of(&on_device, &counting(4))?;
    let mut size = |index, replace: fn(&mut Launch<'_, '_>)| {
        let result = with(&mut kernel, &on_device, buffer, index, replace);
        assert_eq!(refusal(result), "CL_INVALID_ARG_SIZE", "argument {index}");
    };
    size(1, |launch| _ = launch.arg(1_u64));
    size(1, |launch| _ = launch.arg(1_u8));
    size(1, |launch| _ = launch.arg([1_u32; 2]));
    size(2, |launch| _ = launch.arg(1.0_f64));
    size(4, |launch| _ = launch.arg([1.0_f32; 3]));
    size(4, |launch| _ = launch.arg(1.0_f32));
    size(5, |launch| _ = launch.arg(1_i32));
    size(3, |launch| _ = launch.arg(LocalMemory::bytes(0)));
    size(3, |launch| _ = launch.arg(LocalMemory::of::<u64>(usize::MAX / 2)));
    with(&mut kernel, &on_device, buffer, 9, |_| ())?;
    Ok(())
}

#[clmatrix_harness::test]
fn arguments_of_another_kind_are_refused(on_device: OnDevice) -> Result<()> {
    let mut kernel = known(&on_device, EACH_KIND)?;
    let buffer = &buffer_of(&on_device, &counting(4))?;
    let kind = |index, result: Result<Event>| {
        assert_eq!(refusal(result), "CL_INVALID_ARG_VALUE", "argument {index}");
    };
    for index in [1, 2, 3, 4, 5] {
        kind(index, with(&mut kernel, &on_device, buffer, index, |l| _ = l.arg(buffer)));
        kind(index, with(&mut kernel, &on_device, buffer, index, |l| _ = l.arg(NullBuffer)));
    }
    for index in [0, 1, 2, 4, 5] {
        let local = LocalMemory::bytes(4);
        kind(index, with(&mut kernel, &on_device, buffer, index, |l| _ = l.arg(local)));
    }
    kind(0, with(&mut kernel, &on_device, buffer, 0, |l| _ = l.arg(7_u64)));
    kind(1, with(&mut kernel, &on_device, buffer, 1, |l| _ = l.arg(1.0_f32)));
    kind(2, with(&mut kernel, &on_device, buffer, 2, |l| _ = l.arg(1_u32)));
    kind(3, with(&mut kernel, &on_device, buffer, 3, |l| _ = l.arg(4_u32)));
    kind(4, with(&mut kernel, &on_device, buffer, 4, |l| _ = l.arg([1_i32; 4])));
    Ok(())
}

/// Whatever the driver tells of the kernel.
#[rstest]
#[clmatrix_harness::test]
fn local_memory_of_zero_bytes_is_refused(
    on_device: OnDevice,
    #[values("", ARG_INFO)] options: &str,
    #[values(0, usize::MAX)] size: usize,
) -> Result<()> {
    let mut kernel = on_device.kernel("kernel void k(local uint *x) {}", options)?;
    let result = enqueue(kernel.launch().arg(LocalMemory::bytes(size)).global(1), &on_device);
    assert_eq!(refusal(result), "CL_INVALID_ARG_SIZE");
    Ok(())
}

#[rstest]
#[case::none(None, None, None, "CL_INVALID_WORK_DIMENSION")]
#[case::no_work_items(Some(0.into()), None, None, "CL_INVALID_GLOBAL_WORK_SIZE")]
#[case::no_work_items_2d(Some([4, 0].into()), None, None, "CL_INVALID_GLOBAL_WORK_SIZE")]
#[case::groups_of_none(Some(4.into()), Some(0.into()), None, "CL_INVALID_WORK_ITEM_SIZE")]
#[case::other_groups(Some(4.into()), Some([2, 1].into()), None, "CL_INVALID_WORK_DIMENSION")]
#[case::other_offset(Some(4.into()), None, Some([0, 0].into()), "CL_INVALID_WORK_DIMENSION")]
#[case::past_the_end(Some(4.into()), None, Some(usize::MAX.into()), "CL_INVALID_GLOBAL_OFFSET")]
#[clmatrix_harness::test]
fn invalid_work_sizes_are_refused(
    on_device: OnDevice,
    #[case] global: Option<WorkSize>,
    #[case] local: Option<WorkSize>,
    #[case] offset: Option<WorkSize>,
    #[case] code: &str,
) -> Result<()> {
    let mut kernel = on_device.kernel(NOTHING, "")?;
    let mut launch = kernel.launch();
    if let Some(global) = global {
        launch.global(global);
    }
    if let Some(local) = local {
        launch.local(local);
    }
    if let Some(offset) = offset {
        launch.offset(offset);
    }
    assert_eq!(refusal(enqueue(&mut launch, &on_device)), code);
    Ok(())
}

#[clmatrix_harness::test]
fn parts_of_work_groups_are_refused_by_the_driver(on_device: OnDevice) -> Result<()> {
    let mut kernel = on_device.kernel(NOTHING, "-cl-std=CL1.2")?;
    let error = enqueue(kernel.launch().global(4).local(3), &on_device).unwrap_err();
    assert_eq!(error.code_name(), "CL_INVALID_WORK_GROUP_SIZE");
    Ok(())
}

#[clmatrix_harness::test]
fn mapped_memory_is_refused(on_device: OnDevice) -> Result<()> {
    let invalid = "CL_INVALID_OPERATION";
    let mut kernel = known(&on_device, DOUBLE)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let map = buffer.map_read_write::<u32>(&on_device.queue, 1..2)?;
    for _ in 0..2 {
        assert_eq!(refusal(enqueue(kernel.launch().arg(&buffer).global(4), &on_device)), invalid);
        let result = enqueue(kernel.launch().arg_read(&buffer).global(4), &on_device);
        assert_eq!(refusal(result), invalid);
    }
    map.unmap()?.wait()?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(refusal(enqueue(kernel.launch().arg(&buffer).global(4), &on_device)), invalid);
    map.unmap()?.wait()?;
    enqueue(kernel.launch().arg(&buffer).global(4), &on_device)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    Ok(())
}

/// Memory that the kernel only reads may be mapped for reading. The kernel says so, or the flags do.
#[clmatrix_harness::test]
fn memory_mapped_for_reading_is_accepted_for_reading(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global const uint *x, constant uint *y, global uint *z) {
        z[get_global_id(0)] = x[get_global_id(0)] + y[get_global_id(0)];
    }";
    let mut kernel = known(&on_device, source)?;
    let x = buffer_of(&on_device, &counting(4))?;
    let y = Buffer::from_slice(&on_device.context, MemFlags::READ_ONLY, &[10_u32; 4])?;
    let z = buffer_of(&on_device, &[0; 4])?;
    let x_map = x.map_read::<u32>(&on_device.queue, ..)?;
    let y_map = y.map_read::<u32>(&on_device.queue, ..)?;
    enqueue(kernel.launch().arg_read(&x).arg(&y).arg(&z).global(4), &on_device)?;
    assert_eq!(contents(&on_device, &z)?, [10, 11, 12, 13]);
    assert_eq!((x_map[3], y_map[0]), (3, 10));
    Ok(())
}

#[clmatrix_harness::test]
fn objects_of_another_context_are_refused(on_device: OnDevice, elsewhere: OnDevice) -> Result<()> {
    let invalid = "CL_INVALID_CONTEXT";
    let (stranger, own) = (buffer_of(&elsewhere, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    let mut kernel = known(&on_device, DOUBLE)?;
    assert_eq!(refusal(enqueue(kernel.launch().arg(&stranger).global(4), &on_device)), invalid);
    assert_eq!(refusal(enqueue(kernel.launch().arg(&own).global(4), &elsewhere)), invalid);
    let event = gate(&elsewhere.context);
    fail(&event);
    let result = enqueue_at(kernel.launch().arg(&own).global(4), on_device.queue.after(&event));
    assert_eq!(refusal(result), invalid);
    let mut nothing = known(&on_device, NOTHING)?;
    assert_eq!(refusal(enqueue(nothing.launch().global(4), &elsewhere)), invalid);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_of_another_context_is_refused(on_device: OnDevice, elsewhere: OnDevice) -> Result<()> {
    let stranger = SvmAllocation::new(&elsewhere.context, 16, 0, SvmFlags::READ_WRITE)?;
    let mut kernel = known(&on_device, DOUBLE)?;
    let result = enqueue(kernel.launch().arg(&stranger).global(4), &on_device);
    assert_eq!(refusal(result), "CL_INVALID_CONTEXT");
    let own = buffer_of(&on_device, &[1; 4])?;
    let result = enqueue(kernel.launch().arg(&own).indirect(&stranger).global(4), &on_device);
    assert_eq!(refusal(result), "CL_INVALID_CONTEXT");
    Ok(())
}

#[clmatrix_harness::test]
fn unknown_kernel_names_are_refused(on_device: OnDevice) {
    let program = clmatrix::Program::build(&on_device.context, DOUBLE).unwrap();
    let missing = program.kernel("no_such_kernel").map(drop);
    let missing = missing.expect_err("there is no such kernel");
    assert_eq!(missing.code_name(), "CL_INVALID_KERNEL_NAME");
    assert!(missing.detail().contains("it has \"k\""), "{missing}");
    assert_eq!(refusal(program.kernel("k\0")), "CL_INVALID_KERNEL_NAME");
}
