//! Flags of vendors, which the driver accepts or refuses.
//!
//! The driver's functions create the same objects, and must give the same answers.

use std::ptr;

use clmatrix::cl3::types::{cl_buffer_region, cl_image_desc, cl_image_format, cl_mem};
use clmatrix::pool::{Allocator, DeferredAllocator};

use super::*;
use crate::image::RGBA_U32;

/// Bits that OpenCL 3.0 does not define for memory objects. The first is CL_MEM_SVM_FINE_GRAIN_BUFFER.
const BITS: [u64; 5] = [1 << 10, 1 << 18, 1 << 29, 1 << 36, 1 << 63];

/// The flags to try, alone and with an access.
fn flags() -> impl Iterator<Item = MemFlags> {
    let vendors = BITS.into_iter().map(MemFlags::from_bits_retain);
    vendors.flat_map(|flag| [flag, flag | MemFlags::READ_ONLY])
}

/// The result of a cl3 call: a value, or the code of an error.
type Answer<T> = std::result::Result<T, i32>;

/// Releases an object that the driver has created, or returns its error.
fn code(raw: Answer<cl_mem>) -> Answer<()> {
    // SAFETY: the reference is this function's, and given up once.
    raw.map(|raw| unsafe { cl::release_mem_object(raw) }.expect("it is released"))
}

fn buffer_code(context: &Context, flags: MemFlags) -> Answer<()> {
    // SAFETY: the context is alive, and there is no host data.
    code(unsafe { cl::create_buffer(context.as_raw(), flags.bits(), 16, ptr::null_mut()) })
}

/// Checks that the object has the flags, or that its error is the driver's, which is `code`.
#[track_caller]
fn check<M: MemoryObject>(object: Result<M>, flags: MemFlags, code: Answer<()>) {
    match object {
        Ok(object) => {
            assert_eq!(code, Ok(()), "{flags:?}");
            assert!(object.flags().contains(flags), "{:?}", object.flags());
        }
        Err(error) => {
            assert_eq!(code, Err(error.code()), "{flags:?}: {error}");
            assert_eq!(error.detail(), "", "the error is the driver's");
        }
    }
}

#[clmatrix_harness::test]
fn the_driver_decides_on_vendor_flags_of_buffers(on_device: OnDevice) {
    let context = &on_device.context;
    for flags in flags() {
        let buffer = Buffer::new(context, flags, 16);
        // No command uses the buffer: such a flag may make its bytes inaccessible.
        check(buffer, flags, buffer_code(context, flags));
    }
}

#[clmatrix_harness::test]
fn the_driver_decides_on_vendor_flags_of_sub_buffers(on_device: OnDevice) -> Result<()> {
    let parent = Buffer::new(&on_device.context, MemFlags::READ_ONLY, 64)?;
    let region = cl_buffer_region { origin: 0, size: 16 };
    for flags in flags() {
        // The access is inherited.
        let given = (flags | MemFlags::READ_ONLY).bits();
        let (raw, kind) = (parent.as_raw(), cl::CL_BUFFER_CREATE_TYPE_REGION);
        // SAFETY: the buffer is alive, and the region has the type of its kind.
        let answer = unsafe { cl::create_sub_buffer(raw, given, kind, (&raw const region).cast()) };
        check(parent.sub_buffer_with_flags(..16, flags), flags, code(answer));
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_driver_decides_on_vendor_flags_of_images(on_device: OnDevice) {
    let context = &on_device.context;
    let format = cl_image_format::from(RGBA_U32);
    let desc = cl_image_desc {
        image_type: cl::CL_MEM_OBJECT_IMAGE2D,
        image_width: 7,
        image_height: 5,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: ptr::null_mut(),
    };
    for flags in flags() {
        // SAFETY: the context is alive, and there is no host data.
        let raw = unsafe {
            cl::create_image(context.as_raw(), flags.bits(), &format, &desc, ptr::null_mut())
        };
        check(Image::new(context, flags, RGBA_U32, [7, 5]), flags, code(raw));
    }
}

#[clmatrix_harness::test(requires(pipes))]
fn the_driver_decides_on_vendor_flags_of_pipes(on_device: OnDevice) {
    let context = &on_device.context;
    for flags in flags().filter(|flags| !flags.contains(MemFlags::READ_ONLY)) {
        // A pipe has these flags in any case.
        let given = (flags | MemFlags::READ_WRITE | MemFlags::HOST_NO_ACCESS).bits();
        // SAFETY: the context is alive.
        let raw = unsafe { cl::create_pipe(context.as_raw(), given, 4, 64) };
        check(Pipe::new(context, flags, 4, 64), flags, code(raw));
    }
}

#[clmatrix_harness::test]
fn the_driver_decides_on_vendor_flags_of_allocators(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    for flags in flags() {
        let buffer = DeferredAllocator::new(context, flags)?.allocate(16);
        let buffer = buffer.map(|buffer| buffer.expect("memory for more than 0 bytes"));
        check(buffer, flags, buffer_code(context, flags));
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn the_driver_decides_on_vendor_flags_of_formats(on_device: OnDevice) {
    let context = &on_device.context;
    for flags in flags() {
        let (raw, image_type) = (flags.bits(), cl::CL_MEM_OBJECT_IMAGE2D);
        let answer = cl::get_supported_image_formats(context.as_raw(), raw, image_type);
        let formats = context.supported_image_formats(flags, ImageType::Image2d);
        match (formats, answer) {
            (Ok(formats), Ok(answer)) => {
                let known = answer.into_iter().filter_map(|raw| ImageFormat::try_from(raw).ok());
                assert!(formats.into_iter().eq(known), "{flags:?}");
            }
            (Err(error), Err(code)) => assert_eq!(error.code(), code, "{flags:?}"),
            (formats, answer) => panic!("{flags:?}: {formats:?}, and the driver: {answer:?}"),
        }
    }
}

/// Such a flag may make the driver take the host data for another type.
#[clmatrix_harness::test]
fn vendor_flags_with_host_memory_are_refused(on_device: OnDevice) {
    let invalid = "CL_INVALID_VALUE";
    for flags in flags() {
        let context = &on_device.context;
        assert_eq!(refusal(Buffer::from_slice(context, flags, &[1_u32])), invalid, "{flags:?}");
        let used = Buffer::using_host_memory(context, flags, vec![1_u32]);
        assert_eq!(refusal(used.map_err(|returned| returned.error)), invalid, "{flags:?}");
    }
}

#[clmatrix_harness::test(requires(svm))]
fn vendor_flags_with_svm_are_refused(on_device: OnDevice) -> Result<()> {
    let svm = SvmAllocation::new(&on_device.context, 16, 0, SvmFlags::READ_WRITE)?;
    for flags in flags() {
        assert_eq!(refusal(svm.as_buffer(flags, ..)), "CL_INVALID_VALUE", "{flags:?}");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(images))]
fn vendor_flags_with_host_data_of_images_are_refused(on_device: OnDevice) {
    for flags in flags() {
        let image = Image::builder(&on_device.context, RGBA_U32).flags(flags).shape([1, 1]);
        assert_eq!(refusal(image.copy_from(&[0_u32; 4]).build()), "CL_INVALID_VALUE", "{flags:?}");
    }
}
