//! Arrays in shared virtual memory (`pyopencl.svm_empty`, `csvm_empty`, `fsvm_empty` and the ones
//! that take another array's shape).

use ndarray::{Array, Array2, Array3, ShapeBuilder, array};

use super::*;

/// Elements in the order in which they lie in memory.
#[rstest]
#[case::row_major(false, [0, 1, 2, 10, 11, 12])]
#[case::column_major(true, [0, 10, 1, 11, 2, 12])]
#[clmatrix_harness::test(requires(svm))]
fn elements_have_the_requested_order(
    on_device: OnDevice,
    #[case] is_fortran: bool,
    #[case] in_memory: [u32; 6],
) -> Result<()> {
    let shape = (2, 3).set_f(is_fortran);
    let svm = SvmAllocation::builder(&on_device.context).array::<u32, _>(shape)?;
    assert_eq!((svm.shape(), svm.size()), (&[2, 3][..], 24));
    assert_eq!(svm.svm_flags(), COARSE);
    let expected = Array::from_shape_fn((2, 3), |(row, column)| (10 * row + column) as u32);
    let mut map = svm.map(&on_device.queue, MapReadWrite)?;
    map.array_mut().assign(&expected);
    map.unmap()?;
    assert_on_device(&on_device, &svm, &in_memory);
    double(&on_device, &svm)?;
    assert_eq!(svm.map(&on_device.queue, MapRead)?.array(), 2 * expected);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn fine_grain_arrays_need_no_map(on_device: OnDevice) -> Result<()> {
    let svm = SvmAllocation::builder(&on_device.context).flags(FINE).array::<f32, _>(4)?;
    assert_eq!(svm.svm_flags(), FINE);
    svm.access(MapReadWrite)?.array_mut().assign(&array![1.0, 2.0, 3.0, 4.0]);
    let source = "kernel void k(global float *x) { x[get_global_id(0)] += 0.5f; }";
    let mut add = on_device.kernel(source, "")?;
    // SAFETY: the kernel takes memory, and has as many work items as elements.
    unsafe { add.launch().arg(&svm).global(4).enqueue(&on_device.queue)? };
    assert_eq!(svm.access(MapRead)?.array(), array![1.5, 2.5, 3.5, 4.5]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn like_has_the_shape_and_order_of_another_array(on_device: OnDevice) -> Result<()> {
    fn strides(context: &Context, like: &Array3<u16>) -> Result<(Vec<usize>, Vec<isize>)> {
        let svm = SvmAllocation::builder(context).flags(FINE).array_like(like)?;
        let access = svm.access(MapRead)?;
        let array = access.array();
        Ok((array.shape().to_vec(), array.strides().to_vec()))
    }
    let context = &on_device.context;
    let rows = strides(context, &Array3::zeros((2, 3, 4)))?;
    assert_eq!(rows, (vec![2, 3, 4], vec![12, 4, 1]));
    let columns = strides(context, &Array3::zeros((2, 3, 4).f()))?;
    assert_eq!(columns, (vec![2, 3, 4], vec![1, 2, 6]));
    let coarse = SvmAllocation::builder(context).array_like(&array![1_u8, 2])?;
    assert_eq!((coarse.shape(), coarse.svm_flags()), (&[2][..], COARSE));
    let mut neither = Array3::<u16>::zeros((2, 3, 4));
    neither.swap_axes(0, 1);
    let refused = SvmAllocation::builder(context).array_like(&neither).map(|_| ());
    assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    let whole = Array2::<u16>::zeros((4, 4));
    let every_second = whole.slice(ndarray::s![..;2, ..]);
    assert_eq!(
        refusal(SvmAllocation::builder(context).array_like(&every_second).map(|_| ())),
        "CL_INVALID_VALUE"
    );
    Ok(())
}

/// By the size of an element, unless something else is asked for.
#[clmatrix_harness::test(requires(svm))]
fn an_array_is_aligned_for_its_elements(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let mut kept = Vec::new();
    for _ in 0..8 {
        let three_floats = SvmAllocation::builder(context).array::<[f32; 3], _>(5)?;
        assert_eq!(three_floats.svm_ptr().addr() % 16, 0);
        let large = SvmAllocation::builder(context).array::<[u64; 64], _>(5)?;
        assert_eq!(large.svm_ptr().addr() % 128, 0);
        let asked = SvmAllocation::builder(context).alignment(64).array::<u8, _>(5)?;
        assert_eq!(asked.svm_ptr().addr() % 64, 0);
        kept.push((three_floats, large, asked));
    }
    let wrong = SvmAllocation::builder(context).alignment(12).array::<u8, _>(5);
    assert_eq!(refusal(wrong), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn sizes_that_overflow_are_refused(on_device: OnDevice) {
    let context = &on_device.context;
    let many = SvmAllocation::builder(context).array::<u32, _>((usize::MAX / 2, 4));
    assert_eq!(refusal(many), "CL_INVALID_BUFFER_SIZE");
    let bytes = SvmAllocation::builder(context).array::<u32, _>(usize::MAX / 2);
    assert_eq!(refusal(bytes), "CL_INVALID_BUFFER_SIZE");
    let flags = SvmAllocation::builder(context).flags(SvmFlags::ATOMICS).array::<u32, _>(4);
    assert_eq!(refusal(flags), "CL_INVALID_VALUE");
}

#[clmatrix_harness::test(requires(svm))]
fn an_array_may_be_empty(on_device: OnDevice) -> Result<()> {
    let svm = SvmAllocation::builder(&on_device.context).array::<u32, _>((0, 3))?;
    assert!(svm.size() == 0 && svm.svm_ptr().is_null());
    assert_eq!(refusal(svm.map(&on_device.queue, MapReadWrite)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_range_of_an_array_is_in_elements(on_device: OnDevice) -> Result<()> {
    let svm = SvmAllocation::builder(&on_device.context).array::<u32, _>((2, 2))?;
    enqueue_fill(&on_device.queue, &svm, &7_u32, ..)?;
    svm.map_read_write::<u32>(&on_device.queue, 1..2)?[0] = 9;
    assert_eq!(svm.map(&on_device.queue, MapRead)?.array(), array![[7, 9], [7, 7]]);
    Ok(())
}

/// The memory of the array is available by itself.
#[clmatrix_harness::test(requires(svm))]
fn an_array_is_released_as_its_allocation(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let svm = SvmAllocation::builder(&on_device.context).queue(&queue).array::<u32, _>(4)?;
    enqueue_copy(&queue, &svm, &[1_u32, 2, 3, 4], ..)?;
    let allocation = svm.allocation().clone();
    drop(svm);
    allocation.enqueue_release(&queue)?.wait()
}

#[clmatrix_harness::test(requires(svm))]
fn an_unmap_may_run_on_another_queue(on_device: OnDevice) -> Result<()> {
    let svm = SvmAllocation::builder(&on_device.context).array::<u32, _>(4)?;
    let other_queue = on_device.another_queue();
    let mut map = svm.map(&other_queue, MapWriteInvalidate)?;
    map.event().wait()?;
    map.array_mut().fill(3);
    map.unmap_on(&on_device.queue)?.wait()?;
    assert_on_device(&on_device, &svm, &[3; 4]);
    Ok(())
}
