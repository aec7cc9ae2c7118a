//! All answers of `clmatrix_characterize`, as JSON, for the devices that are here and for some that
//! are not: one side of `cargo xtask oracle`.

use clmatrix::select::platforms;
use clmatrix_suites::characterize::entry::Entry;
use clmatrix_suites::characterize::synthetic::{entries, usual_arrays};

/// How many devices that are not here, and how many arrays for each.
const SYNTHETIC: (usize, usize) = (2000, 4);

fn main() -> clmatrix::Result<()> {
    let arrays = usual_arrays();
    let mut real = Vec::new();
    for platform in platforms()? {
        real.extend(Entry::of_platform(&platform, &arrays)?);
    }
    let synthetic = entries(SYNTHETIC.0, SYNTHETIC.1);
    println!("{}", serde_json::json!({"real": real, "synthetic": synthetic}));
    Ok(())
}
