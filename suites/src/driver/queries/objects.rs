//! Queries of events (5.11), queues (5.1) and contexts (4.4).

use super::*;

per_kind! {
    fn an_event_tells_its_command(bench, kind) {
        let findings = Findings::default();
        let mut operands = bench.operands(&[kind]);
        kind.prepare(&mut operands, bench.queue);
        let event = kind.enqueue(&mut operands, Call::on(bench.queue));
        kind.finish(&mut operands, bench.queue);
        let name = format!("the event of {}", kind.function());
        let asked = Asked::new(&findings, Subject::Event(event.raw()), name);
        answers!(asked; constant CL_EVENT_COMMAND_TYPE kind.command_type(),
            pointer CL_EVENT_COMMAND_QUEUE bench.queue, pointer CL_EVENT_CONTEXT bench.context,
            constant CL_EVENT_COMMAND_EXECUTION_STATUS named!(CL_COMPLETE));
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_user_event_has_a_context_but_no_queue(bench: Bench) {
    let findings = Findings::default();
    let gate = Gate::closed(bench.context);
    let asked = Asked::new(&findings, Subject::Event(gate.raw()), "a user event");
    answers!(asked; constant CL_EVENT_COMMAND_TYPE named!(CL_COMMAND_USER),
        pointer CL_EVENT_COMMAND_QUEUE ptr::null_mut(), pointer CL_EVENT_CONTEXT bench.context,
        constant CL_EVENT_COMMAND_EXECUTION_STATUS named!(CL_SUBMITTED));
    gate.open();
    asked.constant(named!(CL_EVENT_COMMAND_EXECUTION_STATUS), named!(CL_COMPLETE));
}

#[rstest]
#[clmatrix_harness::test]
fn a_queue_answers_as_it_was_made(bench: Bench, #[values(false, true)] is_old: bool) {
    if !is_old && !bench.is(2, 0) {
        skip!("the version lacks the function");
    }
    let findings = Findings::default();
    let both = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    let full = |properties| vec![u64::from(CL_QUEUE_PROPERTIES), properties, 0];
    let of_lists = (0..=both).map(|properties| (properties, full(properties)));
    let rows = of_lists.chain([(0, vec![]), (0, vec![0])]);
    for (properties, mut list) in rows.filter(|(properties, _)| bench.has_queues(*properties)) {
        let given = if list.is_empty() { ptr::null() } else { list.as_ptr() };
        let (context, device) = (bench.context, bench.device);
        let queue = if is_old {
            list.clear();
            bench.own_queue(device, properties)
        } else {
            // SAFETY: the context and its device are valid; the list, if any, ends with 0.
            unsafe { object!(Queue clCreateCommandQueueWithProperties(context, device, given)) }
        };
        let name = format!("a queue (old function: {is_old}) with {properties:#x}, list {list:x?}");
        let asked = Asked::new(&findings, Subject::Queue(queue.raw()), name);
        answers!(asked; pointer CL_QUEUE_CONTEXT context, pointer CL_QUEUE_DEVICE device,
            is CL_QUEUE_PROPERTIES properties);
        if bench.is(3, 0) {
            asked.list(named!(CL_QUEUE_PROPERTIES_ARRAY), &list);
        }
        if bench.is(2, 0) {
            asked.refuses(named!(CL_QUEUE_SIZE), CL_INVALID_COMMAND_QUEUE);
        }
    }
}

/// No test makes a queue of the device.
#[rstest]
#[clmatrix_harness::test(requires(opencl = "2.1"))]
fn a_device_without_a_queue_has_no_default_queue(bench: Bench) {
    let findings = Findings::default();
    let asked = Asked::new(&findings, Subject::Queue(bench.queue), "a queue of the host");
    asked.pointer(named!(CL_QUEUE_DEVICE_DEFAULT), ptr::null_mut());
}

#[rstest]
#[case::null(|_: isize| vec![])]
#[case::platform(|platform: isize| vec![CL_CONTEXT_PLATFORM, platform, 0])]
#[case::more(|platform: isize| vec![CL_CONTEXT_INTEROP_USER_SYNC, 1, CL_CONTEXT_PLATFORM, platform, 0])]
#[clmatrix_harness::test]
fn a_context_answers_as_it_was_made(
    bench: Bench,
    #[case] list: fn(isize) -> Vec<isize>,
    #[values(false, true)] is_of_type: bool,
) {
    let of_device = Subject::Device(bench.device);
    let platform = of_device.handle(named!(CL_DEVICE_PLATFORM));
    let kind: u64 = of_device.value(named!(CL_DEVICE_TYPE));
    let list = list(platform as isize);
    if is_of_type && list.is_empty() {
        skip!("the platform would be the driver's choice");
    }
    let given = if list.is_empty() { ptr::null() } else { list.as_ptr() };
    let null = ptr::null_mut();
    // SAFETY: device and platform are valid; the list, if any, ends with 0.
    let context = unsafe {
        if is_of_type {
            object!(Context clCreateContextFromType(given, kind, None, null))
        } else {
            object!(Context clCreateContext(given, 1, &raw const bench.device, None, null))
        }
    };
    let findings = Findings::default();
    let devices = if is_of_type { devices(platform, kind) } else { vec![bench.device as usize] };
    let name = format!("a context (of a type: {is_of_type}) with {list:x?}");
    let asked = Asked::new(&findings, Subject::Context(context.raw()), name);
    answers!(asked; is CL_CONTEXT_NUM_DEVICES devices.len() as u32,
        list CL_CONTEXT_DEVICES &devices, list CL_CONTEXT_PROPERTIES &list);
}

/// The devices of a platform of these types.
pub fn devices(platform: *mut c_void, kind: u64) -> Vec<usize> {
    let mut count = 0;
    let mut devices = vec![ptr::null_mut(); 64];
    // SAFETY: the platform is valid; there is space for 64 devices.
    unsafe { ok!(clGetDeviceIDs(platform, kind, 64, devices.as_mut_ptr(), &raw mut count)) };
    devices.into_iter().take(count as usize).map(|device| device as usize).collect()
}
