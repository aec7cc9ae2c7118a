//! Commands on images: reads, writes, copies, fills and maps (5.3.3 to 5.3.6).

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{
    enqueue_copy_buffer_to_image, enqueue_copy_image, enqueue_copy_image_to_buffer,
    enqueue_fill_image, enqueue_map_image, enqueue_read_image, enqueue_unmap_mem_object,
    enqueue_write_image,
};
use clmatrix::cl3::error_codes::{
    CL_IMAGE_FORMAT_MISMATCH, CL_INVALID_MEM_OBJECT, CL_INVALID_MIP_LEVEL, CL_INVALID_OPERATION,
    CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP, CL_SUCCESS,
};
use clmatrix::cl3::event::release_event;
use clmatrix::cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
use clmatrix::cl3::types::{CL_TRUE, cl_event, cl_int, cl_map_flags, cl_mem};
use rstest::rstest;

use super::buffer::Direction;
use super::command::{Command, Common, check, pointer};
use super::images::{Images, images};
use super::objects::SIZE;
use super::{Answer, assert_one_of};

/// The pixels of an image that a command is about.
pub struct Pixels {
    pub origin: Option<[usize; 3]>,
    pub region: Option<[usize; 3]>,
}

impl Pixels {
    fn valid() -> Self {
        Self { origin: Some([1, 1, 0]), region: Some([8, 4, 1]) }
    }

    fn at(&mut self, origin: [usize; 3]) {
        self.origin = Some(origin);
    }

    fn of(&mut self, region: [usize; 3]) {
        self.region = Some(region);
    }

    fn pointers(&self) -> [*const usize; 2] {
        [pointer(&self.origin).cast(), pointer(&self.region).cast()]
    }
}

/// Changes a valid command to pixels outside of the image, and checks the code of the call. With
/// cl_khr_mipmap_image, the third number of an origin in a 2D image is a mip level.
#[track_caller]
fn check_range<C: Command>(mut command: C, change: fn(&mut C)) {
    change(&mut command);
    assert_one_of(command.code(), &[CL_INVALID_VALUE, CL_INVALID_MIP_LEVEL]);
}

/// The arguments of clEnqueueReadImage or clEnqueueWriteImage, which block.
pub struct Transfer<'a> {
    common: Common,
    on: &'a Images,
    direction: Direction,
    image: cl_mem,
    pixels: Pixels,
    slice_pitch: usize,
    host: *mut c_void,
}

impl<'a> Transfer<'a> {
    pub fn valid(on: &'a Images, direction: Direction) -> Self {
        Self {
            common: Common::new(on.queue()),
            on,
            direction,
            image: on.image(),
            pixels: Pixels::valid(),
            slice_pitch: 0,
            host: on.host(),
        }
    }
}

impl Command for Transfer<'_> {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let [origin, region] = self.pixels.pointers();
        // SAFETY: the host memory, if any, has room for all pixels of an image.
        unsafe {
            match self.direction {
                Direction::Read => enqueue_read_image(
                    queue,
                    self.image,
                    CL_TRUE,
                    origin,
                    region,
                    0,
                    self.slice_pitch,
                    self.host,
                    count,
                    events,
                ),
                Direction::Write => enqueue_write_image(
                    queue,
                    self.image,
                    CL_TRUE,
                    origin,
                    region,
                    0,
                    self.slice_pitch,
                    self.host,
                    count,
                    events,
                ),
            }
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Transfer<'_>| (), CL_SUCCESS)]
#[case::no_columns(|c: &mut Transfer<'_>| c.pixels.of([0, 4, 1]), CL_INVALID_VALUE)]
#[case::no_rows(|c: &mut Transfer<'_>| c.pixels.of([8, 0, 1]), CL_INVALID_VALUE)]
#[case::no_layers(|c: &mut Transfer<'_>| c.pixels.of([8, 4, 0]), CL_INVALID_VALUE)]
#[case::null_origin(|c: &mut Transfer<'_>| c.pixels.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut Transfer<'_>| c.pixels.region = None, CL_INVALID_VALUE)]
#[case::null_host_memory(|c: &mut Transfer<'_>| c.host = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::slice_pitch_of_a_2d_image(
    |c: &mut Transfer<'_>| c.slice_pitch = 4 * 8 * 4, CL_INVALID_VALUE
)]
#[case::null_image(|c: &mut Transfer<'_>| c.image = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test(requires(images))]
fn transfer_checks_its_arguments(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut Transfer<'_>),
    #[case] expected: cl_int,
) {
    check(Transfer::valid(&images, direction), change, expected);
}

#[rstest]
#[clmatrix_harness::test(requires(images), own_worker)]
fn transfer_refuses_a_buffer(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) {
    let call = Transfer::valid(&images, direction);
    check(call, |call| call.image = call.on.buffer(), CL_INVALID_MEM_OBJECT);
}

#[rstest]
#[case::past_the_end_of_a_row(|c: &mut Transfer<'_>| c.pixels.at([9, 1, 0]))]
#[case::past_the_last_row(|c: &mut Transfer<'_>| c.pixels.at([1, 5, 0]))]
#[case::an_origin_outside(|c: &mut Transfer<'_>| c.pixels.at([17, 1, 0]))]
#[case::a_layer_of_a_2d_image(|c: &mut Transfer<'_>| c.pixels.at([1, 1, 1]))]
#[case::layers_of_a_2d_image(|c: &mut Transfer<'_>| c.pixels.of([8, 4, 2]))]
#[case::past_the_last_layer_of_an_array(
    |c: &mut Transfer<'_>| { c.image = c.on.array(); c.pixels.at([1, 1, 3]) }
)]
#[case::past_the_last_layer_of_a_volume(
    |c: &mut Transfer<'_>| { c.image = c.on.volume(); c.pixels.at([1, 1, 3]) }
)]
#[clmatrix_harness::test(requires(images), own_worker)]
fn transfer_refuses_ranges_outside(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut Transfer<'_>),
) {
    check_range(Transfer::valid(&images, direction), change);
}

/// The arguments of clEnqueueCopyImage.
pub struct Copy<'a> {
    pub common: Common,
    pub on: &'a Images,
    pub source: cl_mem,
    pub target: cl_mem,
    pub from: Option<[usize; 3]>,
    pub to: Pixels,
}

impl<'a> Copy<'a> {
    pub fn valid(on: &'a Images) -> Self {
        let (source, target, to) = (on.image(), on.other(), Pixels::valid());
        Self { common: Common::new(on.queue()), on, source, target, from: Some([0; 3]), to }
    }

    fn within_one(&mut self, to: [usize; 3]) {
        self.target = self.source;
        self.to.at(to);
    }
}

impl Command for Copy<'_> {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let (source, target, from) = (self.source, self.target, pointer(&self.from).cast());
        let [to, region] = self.to.pointers();
        // SAFETY: origins and region are null or three numbers each.
        unsafe { enqueue_copy_image(queue, source, target, from, to, region, count, events) }
    }
}

#[rstest]
#[case::valid(|_: &mut Copy<'_>| (), CL_SUCCESS)]
#[case::valid_within_one_image(|c: &mut Copy<'_>| c.within_one([8, 4, 0]), CL_SUCCESS)]
#[case::no_columns(|c: &mut Copy<'_>| c.to.of([0, 4, 1]), CL_INVALID_VALUE)]
#[case::null_source_origin(|c: &mut Copy<'_>| c.from = None, CL_INVALID_VALUE)]
#[case::null_target_origin(|c: &mut Copy<'_>| c.to.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut Copy<'_>| c.to.region = None, CL_INVALID_VALUE)]
#[case::another_format(
    |c: &mut Copy<'_>| c.target = c.on.of_another_format(), CL_IMAGE_FORMAT_MISMATCH
)]
#[case::onto_itself(|c: &mut Copy<'_>| c.within_one([0, 0, 0]), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_columns(|c: &mut Copy<'_>| c.within_one([7, 0, 0]), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_rows(|c: &mut Copy<'_>| c.within_one([0, 3, 0]), CL_MEM_COPY_OVERLAP)]
#[case::null_source(|c: &mut Copy<'_>| c.source = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::null_target(|c: &mut Copy<'_>| c.target = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test(requires(images))]
fn copy_checks_its_arguments(
    images: Images,
    #[case] change: fn(&mut Copy<'_>),
    #[case] expected: cl_int,
) {
    check(Copy::valid(&images), change, expected);
}

#[rstest]
#[case::as_source(|c: &mut Copy<'_>| c.source = c.on.buffer())]
#[case::as_target(|c: &mut Copy<'_>| c.target = c.on.buffer())]
#[clmatrix_harness::test(requires(images), own_worker)]
fn copy_refuses_a_buffer(images: Images, #[case] change: fn(&mut Copy<'_>)) {
    check(Copy::valid(&images), change, CL_INVALID_MEM_OBJECT);
}

#[rstest]
#[case::a_source_past_the_end(|c: &mut Copy<'_>| c.from = Some([9, 0, 0]))]
#[case::a_target_past_the_end(|c: &mut Copy<'_>| c.to.at([1, 5, 0]))]
#[case::a_layer_of_a_2d_source(|c: &mut Copy<'_>| c.from = Some([0, 0, 1]))]
#[case::a_layer_of_a_2d_target(|c: &mut Copy<'_>| c.to.at([1, 1, 1]))]
#[case::layers_of_2d_images(|c: &mut Copy<'_>| c.to.of([8, 4, 2]))]
#[clmatrix_harness::test(requires(images), own_worker)]
fn copy_refuses_ranges_outside(images: Images, #[case] change: fn(&mut Copy<'_>)) {
    check_range(Copy::valid(&images), change);
}

/// The arguments of clEnqueueCopyImageToBuffer, and of clEnqueueCopyBufferToImage with `Write`.
pub struct BufferCopy<'a> {
    pub common: Common,
    pub on: &'a Images,
    /// `Read` reads the image.
    pub direction: Direction,
    pub image: cl_mem,
    pub buffer: cl_mem,
    pub pixels: Pixels,
    pub offset: usize,
}

impl<'a> BufferCopy<'a> {
    pub fn valid(on: &'a Images, direction: Direction) -> Self {
        Self {
            common: Common::new(on.queue()),
            on,
            direction,
            image: on.image(),
            buffer: on.buffer(),
            pixels: Pixels::valid(),
            offset: 64,
        }
    }
}

impl Command for BufferCopy<'_> {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let (image, buffer, offset) = (self.image, self.buffer, self.offset);
        let [origin, region] = self.pixels.pointers();
        // SAFETY: origin and region are null or three numbers each.
        unsafe {
            match self.direction {
                Direction::Read => enqueue_copy_image_to_buffer(
                    queue, image, buffer, origin, region, offset, count, events,
                ),
                Direction::Write => enqueue_copy_buffer_to_image(
                    queue, buffer, image, offset, origin, region, count, events,
                ),
            }
        }
    }
}

#[rstest]
#[case::valid(|_: &mut BufferCopy<'_>| (), CL_SUCCESS)]
#[case::valid_up_to_the_end(
    |c: &mut BufferCopy<'_>| c.offset = SIZE - 4 * 8 * 4, CL_SUCCESS
)]
#[case::no_rows(|c: &mut BufferCopy<'_>| c.pixels.of([8, 0, 1]), CL_INVALID_VALUE)]
#[case::null_origin(|c: &mut BufferCopy<'_>| c.pixels.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut BufferCopy<'_>| c.pixels.region = None, CL_INVALID_VALUE)]
#[case::null_image(|c: &mut BufferCopy<'_>| c.image = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::null_buffer(|c: &mut BufferCopy<'_>| c.buffer = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test(requires(images))]
fn buffer_copy_checks_its_arguments(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut BufferCopy<'_>),
    #[case] expected: cl_int,
) {
    check(BufferCopy::valid(&images, direction), change, expected);
}

#[rstest]
#[case::a_buffer_as_image(|c: &mut BufferCopy<'_>| c.image = c.on.buffer())]
#[case::an_image_as_buffer(|c: &mut BufferCopy<'_>| c.buffer = c.on.other())]
#[clmatrix_harness::test(requires(images), own_worker)]
fn buffer_copy_refuses_the_other_kind(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut BufferCopy<'_>),
) {
    check(BufferCopy::valid(&images, direction), change, CL_INVALID_MEM_OBJECT);
}

#[rstest]
#[case::past_the_end_of_the_buffer(|c: &mut BufferCopy<'_>| c.offset = SIZE - 4 * 8 * 4 + 4)]
#[case::behind_the_end_of_the_buffer(|c: &mut BufferCopy<'_>| c.offset = SIZE + 4)]
#[case::past_the_end_of_a_row(|c: &mut BufferCopy<'_>| c.pixels.at([9, 1, 0]))]
#[case::past_the_last_row(|c: &mut BufferCopy<'_>| c.pixels.at([1, 5, 0]))]
#[case::a_layer_of_a_2d_image(|c: &mut BufferCopy<'_>| c.pixels.at([1, 1, 1]))]
#[clmatrix_harness::test(requires(images), own_worker)]
fn buffer_copy_refuses_ranges_outside(
    images: Images,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut BufferCopy<'_>),
) {
    check_range(BufferCopy::valid(&images, direction), change);
}

/// The arguments of clEnqueueFillImage.
pub struct Fill<'a> {
    common: Common,
    on: &'a Images,
    image: cl_mem,
    colour: Option<[u32; 4]>,
    pixels: Pixels,
}

impl<'a> Fill<'a> {
    pub fn valid(on: &'a Images) -> Self {
        let (common, pixels) = (Common::new(on.queue()), Pixels::valid());
        Self { common, on, image: on.image(), colour: Some([1, 2, 3, 4]), pixels }
    }
}

impl Command for Fill<'_> {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let [origin, region] = self.pixels.pointers();
        let colour = pointer(&self.colour).cast();
        // SAFETY: the colour is null or four integers, and the image has integers.
        unsafe { enqueue_fill_image(queue, self.image, colour, origin, region, count, events) }
    }
}

#[rstest]
#[case::valid(|_: &mut Fill<'_>| (), CL_SUCCESS)]
#[case::null_colour(|c: &mut Fill<'_>| c.colour = None, CL_INVALID_VALUE)]
#[case::no_columns(|c: &mut Fill<'_>| c.pixels.of([0, 4, 1]), CL_INVALID_VALUE)]
#[case::null_origin(|c: &mut Fill<'_>| c.pixels.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut Fill<'_>| c.pixels.region = None, CL_INVALID_VALUE)]
#[case::null_image(|c: &mut Fill<'_>| c.image = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test(requires(images))]
fn fill_checks_its_arguments(
    images: Images,
    #[case] change: fn(&mut Fill<'_>),
    #[case] expected: cl_int,
) {
    check(Fill::valid(&images), change, expected);
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn fill_refuses_a_buffer(images: Images) {
    check(Fill::valid(&images), |call| call.image = call.on.buffer(), CL_INVALID_MEM_OBJECT);
}

#[rstest]
#[case::past_the_end_of_a_row(|c: &mut Fill<'_>| c.pixels.at([9, 1, 0]))]
#[case::past_the_last_row(|c: &mut Fill<'_>| c.pixels.at([1, 5, 0]))]
#[case::a_layer_of_a_2d_image(|c: &mut Fill<'_>| c.pixels.at([1, 1, 1]))]
#[case::layers_of_a_2d_image(|c: &mut Fill<'_>| c.pixels.of([8, 4, 2]))]
#[case::past_the_last_layer_of_an_array(
    |c: &mut Fill<'_>| { c.image = c.on.array(); c.pixels.at([1, 1, 3]) }
)]
#[clmatrix_harness::test(requires(images), own_worker)]
fn fill_refuses_ranges_outside(images: Images, #[case] change: fn(&mut Fill<'_>)) {
    check_range(Fill::valid(&images), change);
}

/// The arguments of clEnqueueMapImage, which blocks.
pub struct Map<'a> {
    common: Common,
    on: &'a Images,
    image: cl_mem,
    flags: cl_map_flags,
    pixels: Pixels,
    tells_row_pitch: bool,
    tells_slice_pitch: bool,
}

impl<'a> Map<'a> {
    pub fn valid(on: &'a Images) -> Self {
        Self {
            common: Common::new(on.queue()),
            on,
            image: on.image(),
            flags: CL_MAP_READ | CL_MAP_WRITE,
            pixels: Pixels::valid(),
            tells_row_pitch: true,
            tells_slice_pitch: true,
        }
    }

    /// Maps, and returns the pointer and the event.
    fn map(&self) -> Answer<(*mut c_void, cl_event)> {
        let Common { queue, count, events } = self.common;
        let [origin, region] = self.pixels.pointers();
        let (mut row_pitch, mut slice_pitch, mut mapped) = (0, 0, ptr::null_mut());
        let place = |is_there: bool, pitch: &mut usize| {
            if is_there { ptr::from_mut(pitch) } else { ptr::null_mut() }
        };
        // SAFETY: origin, region and the places for pitches are null or numbers.
        let event = unsafe {
            enqueue_map_image(
                queue,
                self.image,
                CL_TRUE,
                self.flags,
                origin,
                region,
                place(self.tells_row_pitch, &mut row_pitch),
                place(self.tells_slice_pitch, &mut slice_pitch),
                &mut mapped,
                count,
                events,
            )
        }?;
        Ok((mapped, event))
    }

    fn unmap(&self, mapped: *mut c_void) -> cl_int {
        Unmap { common: Common::new(self.common.queue), image: self.image, mapped }.code()
    }
}

impl Command for Map<'_> {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    /// Unmaps what a driver has mapped.
    fn enqueue(&self) -> Answer<cl_event> {
        let (mapped, event) = self.map()?;
        self.unmap(mapped);
        Ok(event)
    }
}

/// The arguments of clEnqueueUnmapMemObject.
struct Unmap {
    common: Common,
    image: cl_mem,
    mapped: *mut c_void,
}

impl Command for Unmap {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: nothing uses the memory that was mapped.
        unsafe { enqueue_unmap_mem_object(queue, self.image, self.mapped, count, events) }
    }
}

#[rstest]
#[case::valid(|_: &mut Map<'_>| (), CL_SUCCESS)]
#[case::valid_without_a_slice_pitch(
    |c: &mut Map<'_>| c.tells_slice_pitch = false, CL_SUCCESS
)]
#[case::no_rows(|c: &mut Map<'_>| c.pixels.of([8, 0, 1]), CL_INVALID_VALUE)]
#[case::null_origin(|c: &mut Map<'_>| c.pixels.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut Map<'_>| c.pixels.region = None, CL_INVALID_VALUE)]
#[case::null_row_pitch(|c: &mut Map<'_>| c.tells_row_pitch = false, CL_INVALID_VALUE)]
#[case::null_slice_pitch_of_an_array(
    |c: &mut Map<'_>| { c.image = c.on.array(); c.tells_slice_pitch = false }, CL_INVALID_VALUE
)]
#[case::null_slice_pitch_of_a_volume(
    |c: &mut Map<'_>| { c.image = c.on.volume(); c.tells_slice_pitch = false }, CL_INVALID_VALUE
)]
#[case::an_unknown_flag(|c: &mut Map<'_>| c.flags = 1 << 40, CL_INVALID_VALUE)]
#[case::read_and_invalidate(
    |c: &mut Map<'_>| c.flags = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_VALUE
)]
#[case::null_image(|c: &mut Map<'_>| c.image = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test(requires(images))]
fn map_checks_its_arguments(
    images: Images,
    #[case] change: fn(&mut Map<'_>),
    #[case] expected: cl_int,
) {
    check(Map::valid(&images), change, expected);
}

#[clmatrix_harness::test(requires(images), own_worker)]
fn map_refuses_a_buffer(images: Images) {
    check(Map::valid(&images), |call| call.image = call.on.buffer(), CL_INVALID_MEM_OBJECT);
}

#[rstest]
#[case::past_the_end_of_a_row(|c: &mut Map<'_>| c.pixels.at([9, 1, 0]))]
#[case::past_the_last_row(|c: &mut Map<'_>| c.pixels.at([1, 5, 0]))]
#[case::a_layer_of_a_2d_image(|c: &mut Map<'_>| c.pixels.at([1, 1, 1]))]
#[clmatrix_harness::test(requires(images), own_worker)]
fn map_refuses_ranges_outside(images: Images, #[case] change: fn(&mut Map<'_>)) {
    check_range(Map::valid(&images), change);
}

#[rstest]
#[case::valid_beside_the_map(|c: &mut Map<'_>| c.pixels.at([1, 5, 0]), CL_SUCCESS)]
#[case::the_same_pixels(|_: &mut Map<'_>| (), CL_INVALID_OPERATION)]
#[case::a_pixel_of_it(|c: &mut Map<'_>| c.pixels.at([8, 3, 0]), CL_INVALID_OPERATION)]
#[clmatrix_harness::test(requires(images))]
fn a_map_for_writing_refuses_mapped_pixels(
    images: Images,
    #[case] change: fn(&mut Map<'_>),
    #[case] expected: cl_int,
) {
    let map = || {
        let mut map = Map::valid(&images);
        map.pixels.of([8, 3, 1]);
        map
    };
    let first = map();
    let (mapped, event) = first.map().expect("a valid map");
    check(map(), change, expected);
    assert_eq!(first.unmap(mapped), CL_SUCCESS);
    // SAFETY: nothing else has the event.
    unsafe { release_event(event) }.expect("the driver releases its event");
}
