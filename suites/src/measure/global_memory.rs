//! Measurements of global memory.

use super::*;

#[clmatrix_harness::test(alone)]
fn cache_levels_grow_in_size(context: Context) -> Result<()> {
    let all = measured(&context, Topic::Latency);
    let Some(caches) = found(&all, "cache_sizes") else { return Ok(()) };
    let Value::Numbers(sizes) = caches.value else { panic!("{caches:?}") };
    assert!(sizes.is_sorted_by(|smaller, larger| smaller < larger), "{sizes:?}");
    let memory = device(&context).global_mem_size().map_err(unanswered)? as f64;
    assert!(sizes.iter().all(|size| *size < memory), "{sizes:?} of {memory}");
    Ok(())
}

#[clmatrix_harness::test(alone)]
fn the_cache_line_is_a_power_of_two(context: Context) {
    let line = certain(&measured(&context, Topic::Latency), "cache_line_size").map(as_number);
    let Some(line) = line else { return };
    assert!((line as usize).is_power_of_two(), "{line}");
}

#[clmatrix_harness::test(alone)]
fn a_cpu_has_no_pinned_transfers(context: Context) -> Result<()> {
    let all = measured(&context, Topic::HostTransfer);
    let is_cpu = device(&context).dev_type().map_err(unanswered)? & CL_DEVICE_TYPE_CPU != 0;
    for name in ["host_to_device_pinned", "device_to_host_pinned"] {
        assert!(!is_cpu || found(&all, name).is_none(), "{name}");
    }
    Ok(())
}

/// Kernels have several shapes, and the best is the answer; the driver moves all as it likes.
#[clmatrix_harness::test(alone)]
fn the_bandwidth_is_that_of_the_best_work_size(context: Context) {
    let all = measured(&context, Topic::Bandwidth);
    for measured in all.iter().filter(|measured| measured.answer.is_ok()) {
        let [series] = &measured.series[..] else { panic!("{measured:?}") };
        let is_shape = |x: f64| [16.0, 64.0, 256.0].contains(&x);
        let points = || series.points.iter();
        if measured.name == "driver_copy_bandwidth" {
            assert_eq!(series.points.len(), 1, "{series:?}");
        } else {
            assert!(points().all(|point| is_shape(point.x)), "{series:?}");
        }
        let medians = points().filter_map(|point| point.quartiles()).map(|[_, median, _]| median);
        assert_eq!(number(&all, &measured.name), medians.reduce(f64::max), "{}", measured.name);
    }
}

#[clmatrix_harness::test(alone)]
fn transfers_fit_into_a_buffer(context: Context) -> Result<()> {
    let most = device(&context).max_mem_alloc_size().map_err(unanswered)? as f64;
    for measured in measured(&context, Topic::HostTransfer) {
        for point in measured.series.iter().flat_map(|series| &series.points) {
            assert!(point.x > 0.0 && point.x <= most, "{}: {} bytes", measured.name, point.x);
            assert!(point.samples.iter().all(|rate| *rate > 0.0), "{}", measured.name);
        }
    }
    Ok(())
}
