//! `Image::from_array` (`pyopencl.image_from_array`).

use half::f16;
use ndarray::{Array4, Axis, Dimension};

use super::*;

/// An image that kernels read, of elements as they are.
fn image<T: ImageElement, D: Dimension>(
    on_device: &OnDevice,
    array: &ndarray::Array<T, D>,
    channels: Option<usize>,
) -> Result<Image> {
    let (mode, integers) = (ArrayMode::Read, Integers::AsTheyAre);
    or_skip(Image::from_array(&on_device.context, array, channels, mode, integers))
}

/// A kernel's (x, y) is the array's `[[y, x]]`.
#[clmatrix_harness::test(requires(images))]
fn kernels_index_an_image_of_an_array_in_reverse_order(on_device: OnDevice) -> Result<()> {
    let plane = Array2::from_shape_fn((5, 7), |(y, x)| [x as u32, y as u32, 0, 3]);
    let image = image(&on_device, &plane, None)?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image2d, &[7, 5][..]));
    assert_eq!(image.flags(), MemFlags::READ_ONLY | MemFlags::COPY_HOST_PTR);
    assert_eq!(seen(&on_device, &image)?, numbers(&[7, 5]));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn three_axes_of_pixels_make_a_3d_image(on_device: OnDevice) -> Result<()> {
    let solid = Array3::from_shape_fn((3, 5, 7), |(z, y, x)| [x as i16, y as i16, z as i16, 3]);
    let image = image(&on_device, &solid, None)?;
    assert_eq!((image.image_type(), image.shape()), (ImageType::Image3d, &[7, 5, 3][..]));
    assert_eq!(seen(&on_device, &image)?, numbers(&[7, 5, 3]));
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_last_axis_may_count_channels(on_device: OnDevice) -> Result<()> {
    let plane = Array3::from_shape_fn((5, 7, 4), |(y, x, channel)| [x, y, 0, 3][channel] as u8);
    let of_plane = image(&on_device, &plane, Some(4))?;
    assert_eq!(of_plane.shape(), [7, 5]);
    assert_eq!(seen(&on_device, &of_plane)?, numbers(&[7, 5]));
    let solid =
        Array4::from_shape_fn((3, 5, 7, 4), |(z, y, x, channel)| [x, y, z, 3][channel] as u16);
    let of_solid = image(&on_device, &solid, Some(4))?;
    assert_eq!(of_solid.shape(), [7, 5, 3]);
    assert_eq!(seen(&on_device, &of_solid)?, numbers(&[7, 5, 3]));
    Ok(())
}

/// Numbers are pixels of one channel, red; the others are 0, and alpha is 1.
#[rstest]
#[case::u8(|place: usize| place as u8, |place: usize| place as u32)]
#[case::i8(|place: usize| -(place as i8), |place: usize| -(place as i32) as u32)]
#[case::u16(|place: usize| 1000 * place as u16, |place: usize| 1000 * place as u32)]
#[case::i16(|place: usize| -500 * place as i16, |place: usize| (-500 * place as i32) as u32)]
#[case::u32(|place: usize| u32::MAX - place as u32, |place: usize| u32::MAX - place as u32)]
#[case::i32(|place: usize| i32::MIN + place as i32, |place: usize| (i32::MIN + place as i32) as u32)]
#[case::f32(|place: usize| 0.5 * place as f32, |place: usize| (0.5 * place as f32).to_bits())]
#[case::f16(|place: usize| f16::from_f32(0.5 * place as f32), |place: usize| (0.5 * place as f32).to_bits())]
#[clmatrix_harness::test(requires(images))]
fn an_array_of_numbers_is_the_red_channel<T: ImageElement>(
    on_device: OnDevice,
    #[case] element: fn(usize) -> T,
    #[case] red: fn(usize) -> u32,
    #[values(None, Some(1))] channels: Option<usize>,
) -> Result<()> {
    let plane = Array2::from_shape_fn((5, 7), |(y, x)| element(7 * y + x));
    let image = image(&on_device, &plane, channels)?;
    assert_eq!(image.format().channel_count(), 1);
    let seen: Vec<u32> = seen(&on_device, &image)?.iter().map(|pixel| pixel[0]).collect();
    assert_eq!(seen, (0..35).map(red).collect::<Vec<_>>());
    Ok(())
}

#[rstest]
#[case::u8([[0_u8, 51, 102, 255]], [0.0, 0.2, 0.4, 1.0])]
#[case::i8([[0_i8, 127, -127, -64]], [0.0, 1.0, -1.0, -64.0 / 127.0])]
#[case::u16([[0_u16, 65535, 13107, 1]], [0.0, 1.0, 0.2, 1.0 / 65535.0])]
#[case::i16([[0_i16, 32767, -32767, 1]], [0.0, 1.0, -1.0, 1.0 / 32767.0])]
#[clmatrix_harness::test(requires(images))]
fn integers_may_be_normalized<T: ImageElement>(
    on_device: OnDevice,
    #[case] pixel: [[T; 4]; 1],
    #[case] fractions: [f32; 4],
) -> Result<()> {
    let plane = Array3::from_shape_fn((1, 1, 4), |(_, _, channel)| pixel[0][channel]);
    let (mode, integers) = (ArrayMode::Read, Integers::Normalized);
    let image = or_skip(Image::from_array(&on_device.context, &plane, Some(4), mode, integers))?;
    let seen = seen(&on_device, &image)?[0].map(f32::from_bits);
    for (seen, fraction) in seen.iter().zip(fractions) {
        assert!((seen - fraction).abs() < 1e-6, "{seen:?}, not {fractions:?}");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn kernels_write_an_image_of_an_array(on_device: OnDevice) -> Result<()> {
    let plane = Array2::<[u32; 4]>::default((5, 7));
    let (mode, integers) = (ArrayMode::Write, Integers::AsTheyAre);
    let image = Image::from_array(&on_device.context, &plane, None, mode, integers)?;
    assert_eq!(image.flags(), MemFlags::WRITE_ONLY | MemFlags::COPY_HOST_PTR);
    write_places(&on_device, &image)?;
    assert_eq!(pixels(&on_device, &image)?, places(&[7, 5]));
    Ok(())
}

/// The first two and three channels of RGBA, on the devices that have them.
#[clmatrix_harness::test(requires(images))]
fn two_channels_are_red_and_green(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let plane = Array2::from_shape_fn((5, 7), |(y, x)| [x as f32, y as f32]);
    let result = image(&on_device, &plane, None);
    let formats = context.supported_image_formats(MemFlags::READ_ONLY, ImageType::Image2d)?;
    let has_rg = formats.iter().any(|format| format.to_string() == "RG FLOAT");
    if !has_rg {
        assert_eq!(refusal(result), "CL_IMAGE_FORMAT_NOT_SUPPORTED");
        return Ok(());
    }
    let expected: Vec<_> =
        numbers(&[7, 5]).iter().map(|[x, y, ..]| [*x as f32, *y as f32]).collect();
    let seen = seen(&on_device, &result?)?;
    let seen: Vec<_> = seen.iter().map(|pixel| [pixel[0], pixel[1]].map(f32::from_bits)).collect();
    assert_eq!(seen, expected);
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn arrays_that_are_no_image_are_refused(on_device: OnDevice) {
    let plane = Array2::<u8>::zeros((4, 4));
    let format = "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR";
    assert_eq!(refusal(image(&on_device, &plane, Some(3))), format);
    assert_eq!(refusal(image(&on_device, &plane, Some(5))), format);
    assert_eq!(refusal(image(&on_device, &Array3::<u8>::zeros((4, 4, 5)), Some(5))), format);
    assert_eq!(refusal(image(&on_device, &Array3::<[u8; 4]>::default((4, 4, 4)), Some(4))), format);
    let host_ptr = "CL_INVALID_HOST_PTR";
    assert_eq!(refusal(image(&on_device, &ndarray::arr1(&[1_u8, 2]), None)), host_ptr);
    assert_eq!(refusal(image(&on_device, &plane, Some(4))), host_ptr, "one axis of pixels");
    assert_eq!(refusal(image(&on_device, &Array4::<u8>::zeros((2, 2, 2, 2)), None)), host_ptr);
    let descriptor = "CL_INVALID_IMAGE_DESCRIPTOR";
    assert_eq!(refusal(image(&on_device, &Array2::<u8>::zeros((4, 0)), None)), descriptor);

    let (mode, integers) = (ArrayMode::Read, Integers::AsTheyAre);
    let context = &on_device.context;
    for view in [plane.slice(s![..;2, ..]), plane.slice(s![.., ..2])] {
        let result = Image::from_array(context, &view, None, mode, integers);
        assert_eq!(refusal(result), host_ptr, "gaps");
    }
    let mut backwards = Array2::<u8>::zeros((2, 4));
    backwards.invert_axis(Axis(0));
    assert_eq!(refusal(image(&on_device, &backwards, None)), host_ptr);
    let fortran = Array2::<u8>::zeros((2, 4)).reversed_axes();
    assert_eq!(refusal(image(&on_device, &fortran, None)), host_ptr);
    let floats = Array2::<f32>::zeros((4, 4));
    let fractions = Image::from_array(context, &floats, None, mode, Integers::Normalized);
    assert_eq!(refusal(fractions), format);
}
