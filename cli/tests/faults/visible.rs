//! Workers that see one GPU of a driver with several.

use std::collections::BTreeSet;
use std::path::Path;

use clmatrix_runner::verdict::Verdict;
use serde_json::Value;

use crate::support::{Folder, compile, events, output, shared_library};
use crate::{check, cpu};

/// The number of tests in `faulty::visible`.
const TESTS: usize = 2;

/// Runs the tests of `faulty::visible` in two slots on each of three GPUs, which are PoCL's devices. Returns
/// the events, and for each test the UUID of its device in the log, the UUID that its worker saw, and the
/// number of devices there.
fn run(environment: &[(&str, &str)]) -> (Vec<Value>, Vec<(String, String, String)>) {
    let folder = Folder::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/gpu_layer.c");
    let library = folder.at("liblayer.so");
    compile(shared_library(&library, Path::new(source)));
    let mut command = folder.run(&["faulty::visible::", "--slots", "2"]);
    command.env("CLMATRIX_TEST", "nvidia:*").env("OPENCL_LAYERS", library);
    command.env("POCL_DEVICES", "pthread pthread pthread").envs(environment.iter().copied());
    let status = output(command).status.code();
    let log = folder.log();
    assert_eq!(status, Some(0));
    assert_eq!(log.results.len(), 3 * TESTS);
    let seen = log.results.iter().map(|result| {
        assert_eq!(result.verdict, Verdict::Pass);
        let mut devices = log.header.devices.iter();
        let device = devices.find(|device| device.id == result.test.device());
        let property = |name: &str| {
            let found = result.attempt.properties.iter().find(|(key, _)| key == name);
            found.expect("the test records it").1.clone()
        };
        let uuid = device.and_then(|device| device.info.uuid.clone()).expect("a GPU with a UUID");
        (uuid, property("uuid"), property("devices"))
    });
    (events(folder.path()), seen.collect())
}

/// The values of a field in all events of a kind.
fn values<'a>(events: &'a [Value], kind: &str, field: &str) -> Vec<&'a str> {
    let of_kind = events.iter().filter(|event| event["event"] == kind);
    of_kind.filter_map(|event| event[field].as_str()).collect()
}

// A value of the user is narrowed.
check!(a_worker_sees_its_own_gpu_and_no_other, {
    if !cpu::can_be_several() {
        return;
    }
    let uuid = "GPU-00000000-0000-0000-0000-00000000000";
    for (environment, prefix) in [(&[][..], uuid), (&[("CUDA_VISIBLE_DEVICES", "0,1,2")], "")] {
        let (events, seen) = run(environment);
        assert!(seen.iter().all(|(uuid, seen, count)| uuid == seen && count == "1"), "{seen:?}");
        let by = [0, 1, 2].map(|number| format!("CUDA_VISIBLE_DEVICES={prefix}{number}"));
        assert_eq!(values(&events, "device", "visible_by"), by);
        assert!(values(&events, "worker-started", "sees_others").is_empty());
    }
});

check!(a_worker_that_does_not_find_its_gpu_sees_all, {
    if !cpu::can_be_several() {
        return;
    }
    let (events, seen) = run(&[("FAULTS_IGNORE_VARIABLE", "1")]);
    assert!(seen.iter().all(|(uuid, seen, count)| uuid == seen && count == "3"), "{seen:?}");
    // Each worker looks for its GPU at the first position.
    let first = "(00000000000000000000000000000000)";
    let reasons = values(&events, "worker-started", "sees_others");
    assert!(reasons.iter().all(|reason| reason.contains(first)), "{reasons:?}");
    let is_one = |event: &&Value| event["sees_others"].is_string();
    let devices: BTreeSet<_> =
        events.iter().filter(is_one).map(|event| event["device"].as_str()).collect();
    assert_eq!(devices.len(), 2, "all but the first");
});
