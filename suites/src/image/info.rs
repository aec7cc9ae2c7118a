//! The queries of images (`clGetImageInfo`, `clGetMemObjectInfo`; `pyopencl.image_info`), and their
//! lifetime.

use std::collections::HashSet;

use super::*;

for_each_type! {
    fn queries_return_the_properties_of_an_image(on_device, image_type) {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        assert_eq!(image.object_type()?, ObjectType::Image(image_type));
        assert_eq!((image.format(), image.shape()), (RGBA_U32, shape(image_type)));
        assert_eq!(image.element_size(), 16);
        assert_eq!(driver_says(&image, cl::CL_IMAGE_ELEMENT_SIZE), 16);
        let pixels: usize = image.shape().iter().product();
        assert!(MemoryObject::size(&image) >= pixels * 16);
        assert_eq!(image.flags(), MemFlags::READ_ONLY);
        assert_eq!(image.context(), on_device.context);
        assert_eq!((image.num_mip_levels()?, image.num_samples()?), (0, 0));
        assert!(image.host_ptr()?.is_null());
        assert_eq!(image.map_count()?, 0);
        assert_eq!(image.offset(), 0);
        let (buffer, of_buffer) = (image.buffer(), image_type == ImageType::Image1dBuffer);
        assert_eq!(buffer.is_some(), of_buffer, "an image of a buffer has one, no other has");
        assert_eq!(image.associated_memory_object()?, buffer.map(MemoryObject::as_raw));
        Ok(())
    }
}

#[rstest]
#[case::image_1d(ImageType::Image1d, [7, 0, 0, 0])]
#[case::image_1d_buffer(ImageType::Image1dBuffer, [7, 0, 0, 0])]
#[case::image_1d_array(ImageType::Image1dArray, [7, 0, 0, 5])]
#[case::image_2d(ImageType::Image2d, [7, 5, 0, 0])]
#[case::image_2d_array(ImageType::Image2dArray, [7, 5, 0, 3])]
#[case::image_3d(ImageType::Image3d, [7, 5, 3, 0])]
#[clmatrix_harness::test(requires(images))]
fn missing_axes_have_length_0(
    on_device: OnDevice,
    #[case] image_type: ImageType,
    #[case] axes: [usize; 4],
) -> Result<()> {
    let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
    let shape: Vec<usize> = axes.into_iter().filter(|length| *length != 0).collect();
    assert_eq!(image.shape(), shape);
    let names =
        [cl::CL_IMAGE_WIDTH, cl::CL_IMAGE_HEIGHT, cl::CL_IMAGE_DEPTH, cl::CL_IMAGE_ARRAY_SIZE];
    assert_eq!(names.map(|name| driver_says(&image, name)), axes, "the driver agrees");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn queries_return_the_pitches(
    on_device: OnDevice,
    #[values(ImageType::Image2d, ImageType::Image2dArray, ImageType::Image3d)]
    image_type: ImageType,
) -> Result<()> {
    let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
    let row_pitch = image.row_pitch()?;
    assert!(row_pitch >= 7 * 16, "{row_pitch}");
    let slice_pitch = image.slice_pitch()?;
    match image_type {
        ImageType::Image2d => assert_eq!(slice_pitch, 0),
        _ => assert!(slice_pitch >= 5 * row_pitch, "{slice_pitch}"),
    }
    Ok(())
}

for_each_type! {
    fn from_raw_retains_or_takes_over_a_reference(on_device, image_type) {
        let flags = match image_type {
            ImageType::Image3d => MemFlags::READ_ONLY,
            _ => MemFlags::READ_WRITE,
        };
        let image = image_of(&on_device, image_type, flags)?;
        let count = image.reference_count()?;
        // SAFETY: the handle is valid, and nothing is mapped.
        let added = unsafe { Image::retain_raw(image.as_raw())? };
        assert_eq!(image.reference_count()?, count + 1);
        assert_eq!((added.format(), added.image_type()), (image.format(), image_type));
        assert_eq!((added.shape(), added.flags()), (image.shape(), image.flags()));
        assert_eq!(added.buffer(), image.buffer());
        assert_eq!(added, image);
        let raw = added.as_raw();
        std::mem::forget(added);
        // SAFETY: the handle is valid, its reference is that of `added`, and nothing is mapped.
        let taken = unsafe { Image::from_raw(raw)? };
        assert_eq!(image.reference_count()?, count + 1);
        enqueue_copy(&on_device.queue, &taken, &places(image.shape()), ..)?;
        assert_eq!(super::pixels(&on_device, &image)?, places(image.shape()));
        drop(taken);
        assert!(soon(|| Ok(image.reference_count()? == count))?, "{}", image.reference_count()?);
        Ok(())
    }
}

#[clmatrix_harness::test(requires(images))]
fn handles_of_other_objects_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    // SAFETY: the handle is valid, and nothing is mapped.
    assert_eq!(refusal(unsafe { Image::retain_raw(buffer.as_raw()) }), "CL_INVALID_MEM_OBJECT");
    let image = image_of(&on_device, ImageType::Image2d, MemFlags::READ_WRITE)?;
    // SAFETY: as above.
    assert_eq!(refusal(unsafe { Buffer::retain_raw(image.as_raw()) }), "CL_INVALID_MEM_OBJECT");
    let counts = || -> Result<_> { Ok((buffer.reference_count()?, image.reference_count()?)) };
    assert!(soon(|| Ok(counts()? == (1, 1)))?, "{:?}", counts()?);
    assert_eq!(image.object_type()?, ObjectType::Image(ImageType::Image2d));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn images_are_compared_by_handle(on_device: OnDevice) -> Result<()> {
    let new = || image_of(&on_device, ImageType::Image2d, MemFlags::READ_ONLY);
    let (one, other) = (new()?, new()?);
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    assert_eq!(one.reference_count()?, 1, "clones share one reference");
    let clone = one.clone();
    assert_eq!(one.reference_count()?, 1);
    #[expect(clippy::mutable_key_type, reason = "equality and hash are those of the handle")]
    let all: HashSet<Image> = [one, other, clone].into();
    assert_eq!(all.len(), 2);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_outlives_its_context_and_queue(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let other_queue = CommandQueue::new(&context)?;
    let new = || Image::new(&context, MemFlags::READ_WRITE, RGBA_U32, [7, 5]);
    let (image, copy) = (new()?, new()?);
    enqueue_copy(&queue, &image, &places(&[7, 5]), ..)?;
    drop(queue);
    drop(context);
    enqueue_copy(&other_queue, &copy, &image, ..)?;
    drop(image);
    assert_eq!(copy.to_vec::<[u32; 4]>(&other_queue)?, places(&[7, 5]));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_released_image_releases_its_context(
    ctx_factory: CtxFactory,
    #[values(ImageType::Image1dBuffer, ImageType::Image2d, ImageType::Image3d)]
    image_type: ImageType,
) -> Result<()> {
    let context = ctx_factory()?;
    let before = context.reference_count()?;
    let queue = CommandQueue::new(&context)?;
    let on_device = OnDevice { context, queue };
    {
        let image = image_of(&on_device, image_type, MemFlags::READ_ONLY)?;
        enqueue_copy(&on_device.queue, &image, &places(image.shape()), ..)?;
        drop(image.map_read::<[u32; 4]>(&on_device.queue, ..)?);
        on_device.queue.finish()?;
    }
    let OnDevice { context, queue } = on_device;
    drop(queue);
    assert!(soon(|| Ok(context.reference_count()? == before))?, "{}", context.reference_count()?);
    Ok(())
}
