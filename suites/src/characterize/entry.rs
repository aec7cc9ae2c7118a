//! A device with all answers for it, in the form in which they are compared with PyOpenCL's, by tests
//! and by `cargo xtask oracle`.

use clmatrix::select::FoundPlatform;
use clmatrix_characterize::Characterized;
use serde_json::{Map, Value};

use super::*;

/// A device with all answers for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Which device it is.
    pub device: String,
    /// The facts that the answers depend on.
    pub facts: Facts,
    /// The other conditions, if they are known without the device.
    pub builds: Option<Builds>,
    /// By PyOpenCL's names.
    pub answers: Map<String, Value>,
    /// Arrays in local memory, and what comes of them.
    pub conflicts: Vec<Conflict>,
}

/// Facts from builds of kernels.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Builds {
    /// CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE.
    pub preferred_work_group_size_multiple: usize,
    /// CL_KERNEL_NUM_ARGS of a kernel that takes a structure of two members.
    pub struct_arg_count: u32,
}

/// An array in local memory, and what comes of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conflict {
    /// The array.
    pub array: LocalArray,
    /// The answer.
    pub answer: Value,
}

/// An array in local memory. Sizes are in bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LocalArray {
    /// The size of an element.
    pub item_size: usize,
    /// The accessed shape, the fastest axis last.
    pub shape: Vec<usize>,
    /// The shape in memory, if it is larger.
    pub stored_shape: Option<Vec<usize>>,
}

impl TrialBuild for Builds {
    fn preferred_work_group_size_multiple(&self) -> Result<usize> {
        Ok(self.preferred_work_group_size_multiple)
    }

    fn struct_arg_count(&self) -> Result<u32> {
        Ok(self.struct_arg_count)
    }
}

impl Entry {
    /// The answers for facts that were written down.
    pub fn of_facts(device: &str, facts: Facts, builds: Builds, arrays: &[LocalArray]) -> Self {
        let answers = answers(&facts, builds);
        let conflicts = arrays.iter().map(|array| conflict(&facts, array)).collect();
        Self { device: device.to_owned(), facts, builds: Some(builds), answers, conflicts }
    }

    /// The answers for all devices of a platform.
    ///
    /// # Errors
    /// Where a driver does not tell what all devices have.
    pub fn of_platform(platform: &FoundPlatform, arrays: &[LocalArray]) -> Result<Vec<Self>> {
        let of = |number: usize| {
            let (device, info) = (&platform.devices[number], &platform.info.devices[number]);
            let facts = Facts::query(device)?;
            let name = format!(
                "{} / {} / {} / {number}",
                platform.info.name, info.name, info.driver_version
            );
            let answers = answers(&facts, device);
            let conflicts = arrays.iter().map(|array| conflict(&facts, array)).collect();
            Ok(Self { device: name, facts, builds: None, answers, conflicts })
        };
        (0..platform.devices.len()).map(of).collect()
    }
}

/// All answers but those for arrays.
pub fn answers(facts: &Facts, builds: impl TrialBuild) -> Map<String, Value> {
    let mut answers: Map<_, _> = table(facts, &builds)
        .into_iter()
        .map(|row| (row.function.to_owned(), comparable(&row.answer)))
        .collect();
    let known = |value| Ok(Characterized { value, warnings: Vec::new() });
    for nargs in [0, 10] {
        let name = format!("usable_local_mem_size({nargs})");
        answers.insert(name, comparable(&known(facts.usable_local_mem_size(Some(nargs)))));
    }
    let simd = facts.simd_group_size(8, &builds);
    let simd = simd.map(|value| Characterized { value, warnings: Vec::new() });
    answers.insert("get_simd_group_size(8)".to_owned(), comparable(&simd));
    let pocl = facts.pocl_version(Some(Version { major: 0, minor: 14 }));
    answers.insert("get_pocl_version((0, 14))".to_owned(), comparable(&Ok(pocl)));
    answers
}

/// Returns the conflict of an array.
pub fn conflict(facts: &Facts, array: &LocalArray) -> Conflict {
    let LocalArray { item_size, shape, stored_shape } = array;
    let stored_shape = stored_shape.as_deref();
    let answer = facts.why_not_local_access_conflict_free(*item_size, shape, stored_shape);
    Conflict { array: array.clone(), answer: comparable(&answer) }
}

/// Without the words: a warning counts, and an error is one.
fn comparable(answer: &Result<Characterized<impl Serialize>>) -> Value {
    match answer {
        Ok(answer) => json!({"value": answer.value, "warnings": answer.warnings.len()}),
        Err(_) => json!({"error": true}),
    }
}
