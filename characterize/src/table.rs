//! All answers for a device, by PyOpenCL's names.

use std::fmt;

use super::facts::Facts;
use super::trial_build::TrialBuild;
use super::warning::Characterized;
use clmatrix::Result;
use clmatrix::select::Version;

/// One of PyOpenCL's functions, and its answer. [`table`] has them all.
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::{Facts, table};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = context.default_device().clone();
/// let table = table(&Facts::query(&device)?, device);
/// let is_guess = |answer: &clmatrix_characterize::Characterized<_>| !answer.is_known();
/// for row in table.iter().filter(|row| row.answer.as_ref().is_ok_and(is_guess)) {
///     println!("{} is a guess", row.function);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// The function's name in `pyopencl.characterize`.
    pub function: &'static str,
    /// The answer.
    #[serde(flatten, serialize_with = "answer_or_error")]
    pub answer: Result<Characterized<Answer>>,
}

/// An answer of any type.
///
/// ```
/// use clmatrix_characterize::{Answer, Facts};
///
/// let facts = Facts { local_mem_size: 32768, ..Facts::default() };
/// assert_eq!(Answer::from(facts.usable_local_mem_size(None)), Answer::Number(32768));
/// assert_eq!(Answer::from(facts.has_src_build_cache()), Answer::None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// The answer is unknown, or there is none.
    None,
    /// A yes or no.
    Flag(bool),
    /// A number, or a size in bytes.
    Number(u64),
    /// A version.
    Version(Version),
    /// A name.
    Name(String),
    /// Several names.
    Names(Vec<String>),
}

/// Returns all answers that need no arguments but a device, in the order of PyOpenCL's documentation. The
/// size of a SIMD group is that for elements of 4 bytes, the usable local memory that of a kernel with all
/// possible arguments.
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::{Answer, Facts, table};
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = context.default_device().clone();
/// let table = table(&Facts::query(&device)?, (&context, &device));
/// for row in &table {
///     match &row.answer {
///         Ok(answer) => println!("{}: {:?} {:?}", row.function, answer.value, answer.warnings),
///         Err(error) => println!("{}: {error}", row.function),
///     }
/// }
/// let granularity = table.iter().find(|row| row.function == "local_memory_access_granularity");
/// assert_eq!(granularity.unwrap().answer.as_ref().unwrap().value, Answer::Number(4));
/// # Ok(())
/// # }
/// ```
pub fn table(facts: &Facts, builds: impl TrialBuild) -> Vec<Row> {
    let simd = || facts.simd_group_size(4, &builds);
    let multiple = || facts.reasonable_work_group_size_multiple(&builds);
    vec![
        row("get_fast_inaccurate_build_options", facts.fast_inaccurate_build_options()),
        fallible("get_simd_group_size", simd()),
        fallible("reasonable_work_group_size_multiple", multiple()),
        row("has_double_support", facts.has_double_support()),
        row("has_amd_double_support", facts.has_amd_double_support()),
        characterized("has_struct_arg_count_bug", facts.has_struct_arg_count_bug(&builds)),
        row("local_memory_access_granularity", facts.local_memory_access_granularity()),
        characterized("local_memory_bank_count", facts.local_memory_bank_count()),
        characterized(
            "simultaneous_work_items_on_local_access",
            Ok(facts.simultaneous_work_items_on_local_access()),
        ),
        row("usable_local_mem_size", facts.usable_local_mem_size(None)),
        row("nv_compute_capability", facts.nv_compute_capability()),
        fallible("has_coarse_grain_buffer_svm", facts.has_coarse_grain_buffer_svm()),
        fallible("has_fine_grain_buffer_svm", facts.has_fine_grain_buffer_svm()),
        fallible("has_fine_grain_system_svm", facts.has_fine_grain_system_svm()),
        fallible("has_fine_grain_buffer_svm_atomics", facts.has_fine_grain_buffer_svm_atomics()),
        fallible("has_fine_grain_system_svm_atomics", facts.has_fine_grain_system_svm_atomics()),
        row("has_src_build_cache", facts.has_src_build_cache()),
        characterized("get_pocl_version", Ok(facts.pocl_version(None))),
    ]
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Self::Number(number) => number.fmt(f),
            Self::Version(version) => version.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Names(names) => f.write_str(&names.join(" ")),
        }
    }
}

fn row(function: &'static str, value: impl Into<Answer>) -> Row {
    fallible(function, Ok(value))
}

fn fallible(function: &'static str, value: Result<impl Into<Answer>>) -> Row {
    characterized(function, value.map(Characterized::known))
}

fn characterized(function: &'static str, answer: Result<Characterized<impl Into<Answer>>>) -> Row {
    Row { function, answer: answer.map(|answer| answer.map(Into::into)) }
}

macro_rules! from {
    ($($from:ty: $value:ident => $answer:expr;)*) => {
        $(impl From<$from> for Answer {
            fn from($value: $from) -> Self {
                $answer
            }
        })*
    };
}

from! {
    bool: value => Self::Flag(value);
    u32: value => Self::Number(value.into());
    u64: value => Self::Number(value);
    usize: value => Self::Number(value as u64);
    Version: value => Self::Version(value);
    super::StructArgCountBug: value => Self::Name(value.to_string());
    &[&str]: value => Self::Names(value.iter().map(|name| (*name).to_owned()).collect());
}

impl<T: Into<Self>> From<Option<T>> for Answer {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// `{"value": .., "warnings": [..]}`, or `{"error": ".."}`.
fn answer_or_error<S: serde::Serializer>(
    answer: &Result<Characterized<Answer>>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    use serde::Serialize;
    use serde::ser::SerializeMap;

    match answer {
        Ok(answer) => answer.serialize(serializer),
        Err(error) => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("error", &error.to_string())?;
            map.end()
        }
    }
}
