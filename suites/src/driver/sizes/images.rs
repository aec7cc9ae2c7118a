//! Images of long, wide and deep shapes, in whole and in part.

use rstest::rstest;

use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::image::{Image, Pixels, Way};
use crate::driver::memory::maps::FLAGS;
use crate::driver::memory::target::Memory;

#[rstest]
#[case::wide([1000, 7, 1])]
#[case::long([1, 1000, 1])]
#[case::a_power_of_two_less_one([255, 3, 1])]
#[case::a_power_of_two([256, 3, 1])]
#[case::a_power_of_two_and_one([257, 3, 1])]
#[case::one_pixel([1, 1, 1])]
#[case::deep([17, 5, 9])]
#[case::a_deep_column([1, 1, 33])]
#[clmatrix_harness::test(requires(images))]
fn commands_change_their_pixels_only(bench: Bench, #[case] size: [usize; 3]) {
    let findings = Findings::default();
    let image = Image::new(&bench, Memory::Plain, size);
    let ways: Vec<Way> = Way::TRANSFERS.into_iter().chain(FLAGS.map(Way::Map)).collect();
    image.check(&ways, Pixels { origin: [0; 3], other: [0; 3], region: size }, &findings);
    // All but the first pixels of each dimension, which are the first ones or begin with the second one elsewhere.
    let first = size.map(|size| usize::from(size > 1));
    let region = size.map(|size| (size - 1).max(1));
    image.check(&ways, Pixels { origin: first, other: [0; 3], region }, &findings);
    // The last pixel of each dimension.
    let last = size.map(|size| size - 1);
    image.check(&ways, Pixels { origin: last, other: first, region: [1; 3] }, &findings);
}
