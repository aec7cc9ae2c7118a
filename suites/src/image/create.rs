//! `clCreateImage` (OpenCL 3.0, 5.3.1; `pyopencl.create_image`).

use super::*;

/// The first channel of each pixel.
fn greys(seen: &[[u32; 4]]) -> Vec<u8> {
    seen.iter().map(|pixel| pixel[0] as u8).collect()
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn an_image_is_initialized_with_host_data(
    on_device: OnDevice,
    #[values(
        ImageType::Image1d,
        ImageType::Image1dArray,
        ImageType::Image2d,
        ImageType::Image2dArray,
        ImageType::Image3d
    )]
    image_type: ImageType,
) -> Result<()> {
    let shape = shape(image_type);
    let mut places = places(shape);
    let builder = Image::builder(&on_device.context, RGBA_U32)
        .flags(MemFlags::READ_ONLY)
        .shape(shape)
        .copy_from(&places);
    let image = if image_type.is_array() { builder.array().build()? } else { builder.build()? };
    assert_eq!(image.image_type(), image_type);
    assert_eq!(image.flags(), MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR);
    assert_eq!(seen(&on_device, &image)?, places);
    let expected = places.clone();
    places.fill([0; 4]);
    assert_eq!(seen(&on_device, &image)?, expected, "it is a copy");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(images))]
fn a_kernel_writes_each_pixel(
    on_device: OnDevice,
    #[values(
        ImageType::Image1d,
        ImageType::Image1dBuffer,
        ImageType::Image1dArray,
        ImageType::Image2d,
        ImageType::Image2dArray
    )]
    image_type: ImageType,
) -> Result<()> {
    let image = image_of(&on_device, image_type, MemFlags::WRITE_ONLY)?;
    write_places(&on_device, &image)?;
    assert_eq!(pixels(&on_device, &image)?, places(image.shape()));
    Ok(())
}

#[clmatrix_harness::test(requires(images, extension = "cl_khr_3d_image_writes"))]
fn a_kernel_writes_each_pixel_of_a_3d_image(on_device: OnDevice) -> Result<()> {
    let image = image_of(&on_device, ImageType::Image3d, MemFlags::WRITE_ONLY)?;
    write_places(&on_device, &image)?;
    assert_eq!(pixels(&on_device, &image)?, places(image.shape()));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_host_data_may_have_gaps(on_device: OnDevice) -> Result<()> {
    let grey = || Image::builder(&on_device.context, GREY).flags(MemFlags::READ_ONLY);
    let found = |image: Result<Image>| -> Result<String> {
        let image = or_skip(image)?;
        Ok(String::from_utf8_lossy(&greys(&seen(&on_device, &image)?)).into_owned())
    };
    let rows = grey().shape([3, 2]).pitches([5]).copy_from(b"abc..def..").build();
    assert_eq!(found(rows)?, "abcdef");
    assert_eq!(found(grey().shape([3]).pitches([5]).copy_from(b"abc..").build())?, "abc");
    let slices = b"ab.cd....ef.gh....";
    let solid = grey().shape([2, 2, 2]).pitches([3, 9]).copy_from(slices).build();
    assert_eq!(found(solid)?, "abcdefgh");
    let layers = grey().shape([2, 2, 2]).array().pitches([3, 9]).copy_from(slices).build();
    assert_eq!(found(layers)?, "abcdefgh");
    let slice_only = grey().shape([2, 2, 2]).pitches([0, 6]).copy_from(b"abcd..efgh..").build();
    assert_eq!(found(slice_only)?, "abcdefgh");
    for pitches in [[4, 0], [0, 4], [4, 4], [2, 4]] {
        let layers = grey().shape([2, 3]).array().pitches(pitches).copy_from(b"ab..cd..ef..");
        assert_eq!(found(layers.build())?, "abcdef", "{pitches:?}");
    }
    Ok(())
}

/// `array[[x, y]]` is the pixel (x, y), however the array lies in memory.
#[clmatrix_harness::test(requires(images))]
fn the_first_axis_of_an_array_is_x(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let value = |x: usize, y: usize| (x + 10 * y) as u8;
    let expected: Vec<u8> = (0..2).flat_map(|y| (0..3).map(move |x| value(x, y))).collect();
    let check = |image: Result<Image>| -> Result<()> {
        let image = or_skip(image)?;
        assert_eq!(image.shape(), [3, 2]);
        assert_eq!(greys(&seen(&on_device, &image)?), expected);
        Ok(())
    };
    let x_first = Array2::from_shape_fn((3, 2), |(x, y)| value(x, y));
    check(Image::builder(context, GREY).copy_from_array(&x_first).build())?;
    let fortran = Array2::from_shape_fn((3, 2).f(), |(x, y)| value(x, y));
    check(Image::builder(context, GREY).copy_from_array(&fortran).build())?;
    let rows_first = Array2::from_shape_fn((2, 3), |(y, x)| value(x, y));
    check(Image::builder(context, GREY).copy_from_array(&rows_first.t()).build())?;
    let larger = Array2::from_shape_fn((6, 4), |(x, y)| value(x / 2, 3 - y));
    let view = larger.slice(s![..;2, ..;-1]);
    check(Image::builder(context, GREY).copy_from_array(&view.slice(s![.., ..2])).build())?;
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn an_image_has_the_shape_of_its_array(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let solid = Array3::from_shape_fn((4, 3, 2).f(), |(x, y, z)| [x as u8, y as u8, z as u8, 3]);
    let expected = numbers(&[4, 3, 2]);
    let builder = Image::builder(context, RGBA_U8).flags(MemFlags::READ_ONLY);
    let image = builder.copy_from_array(&solid).build()?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image3d, &[4, 3, 2][..]));
    assert_eq!(seen(&on_device, &image)?, expected);
    let layers = Image::builder(context, RGBA_U8).copy_from_array(&solid).array().build()?;
    assert_eq!(layers.image_type(), ImageType::Image2dArray);
    assert_eq!(seen(&on_device, &layers)?, expected);
    let row = ndarray::arr1(&[[0_u8, 0, 0, 3], [1, 0, 0, 3]]);
    let image = Image::builder(context, RGBA_U8).copy_from_array(&row).build()?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image1d, &[2][..]));
    // The same elements in another shape.
    let image = Image::builder(context, RGBA_U8).copy_from_array(&solid).shape([12, 2]).build()?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image2d, &[12, 2][..]));
    Ok(())
}

#[rstest]
#[case::read_write(MemFlags::READ_WRITE)]
#[case::read_only(MemFlags::READ_ONLY)]
#[case::write_only(MemFlags::WRITE_ONLY)]
#[case::on_the_host(MemFlags::READ_WRITE.union(MemFlags::ALLOC_HOST_PTR))]
#[case::host_reads(MemFlags::WRITE_ONLY.union(MemFlags::HOST_READ_ONLY))]
#[case::host_writes(MemFlags::READ_ONLY.union(MemFlags::HOST_WRITE_ONLY))]
#[case::no_host(MemFlags::READ_WRITE.union(MemFlags::HOST_NO_ACCESS))]
#[clmatrix_harness::test(requires(images))]
fn an_image_has_the_requested_flags(on_device: OnDevice, #[case] flags: MemFlags) -> Result<()> {
    let image = Image::new(&on_device.context, flags, RGBA_U32, [7, 5])?;
    assert_eq!(image.flags(), flags);
    assert_eq!(driver_flags(&image), flags);
    Ok(())
}
