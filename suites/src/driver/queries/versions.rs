//! Versions, and lists of names with versions, of devices (4.2) and platforms (4.1).

use std::collections::BTreeSet;

use super::*;

/// The words of a text, between spaces or semicolons. No word comes twice.
pub fn words(asked: &Asked<'_>, query: Named<u32>) -> BTreeSet<String> {
    fn split(text: &str) -> impl Iterator<Item = &str> {
        text.split([' ', ';']).filter(|word| !word.is_empty())
    }
    let is_set = |text: &str| split(text).collect::<BTreeSet<_>>().len() == split(text).count();
    split(&asked.read(query, "no name twice", is_set)).map(str::to_owned).collect()
}

/// A major and a minor version.
type Version = (u32, u32);

fn version(number: u32) -> Version {
    (number >> 22, number >> 12 & 0x3ff)
}

/// The names with versions of a list of `cl_name_version`.
fn names(asked: &Asked<'_>, query: Named<u32>) -> Vec<(String, Version)> {
    let is_list = |found: &[u32]| found.len().is_multiple_of(17);
    let numbers = asked.check(query, "elements of 68 bytes", is_list);
    let read = |element: &[u32]| {
        let name = bytemuck::cast_slice::<_, u8>(&element[1..]).split(|byte| *byte == 0).next();
        (String::from_utf8_lossy(name.unwrap_or_default()).into_owned(), version(element[0]))
    };
    numbers.chunks_exact(17).map(read).collect()
}

/// The version after this prefix in a text, and before a space.
fn version_in(text: &str, prefix: &str) -> Option<Version> {
    let (number, _) = text.strip_prefix(prefix)?.split_once(' ')?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Checks that a text has a version that the specification names.
fn check_version(asked: &Asked<'_>, query: Named<u32>, prefix: &str) -> Version {
    let rule = format!("`{prefix}MAJOR.MINOR INFORMATION`, at least 1.0 and below 4.0");
    let holds =
        |text: &str| version_in(text, prefix).is_some_and(|found| (1..4).contains(&found.0));
    version_in(&asked.read(query, rule, holds), prefix).unwrap_or_default()
}

/// The device and its platform.
fn both<'a>(findings: &'a Findings, bench: &Bench) -> [Asked<'a>; 2] {
    let device = Subject::Device(bench.device);
    let platform = Subject::Platform(device.handle(named!(CL_DEVICE_PLATFORM)));
    [device, platform].map(|subject| Asked::new(findings, subject, "the device under test"))
}

#[rstest]
#[clmatrix_harness::test]
fn a_version_is_the_same_as_text_and_as_number(bench: Bench) {
    let findings = Findings::default();
    let [device, platform] = both(&findings, &bench);
    let language = check_version(&device, named!(CL_DEVICE_OPENCL_C_VERSION), "OpenCL C ");
    let of_device = check_version(&device, named!(CL_DEVICE_VERSION), "OpenCL ");
    let of_platform = check_version(&platform, named!(CL_PLATFORM_VERSION), "OpenCL ");
    if !bench.is(3, 0) {
        return;
    }
    for (asked, query, wanted) in [
        (&device, named!(CL_DEVICE_NUMERIC_VERSION), of_device),
        (&platform, named!(CL_PLATFORM_NUMERIC_VERSION), of_platform),
    ] {
        let holds = |found: &[u32]| matches!(found, [found] if version(*found) == wanted);
        asked.check(query, format_args!("the version of the text, {wanted:?}"), holds);
    }
    let list = named!(CL_DEVICE_OPENCL_C_ALL_VERSIONS);
    let found = names(&device, list);
    for wanted in [(1, 0), (1, 1), (1, 2), (3, 0), language] {
        if !found.contains(&("OpenCL C".into(), wanted)) {
            device.add(list, format_args!("`OpenCL C` with {wanted:?}"), format_args!("{found:?}"));
        }
    }
}

#[rstest]
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn a_list_of_names_is_the_same_with_versions(bench: Bench) {
    let findings = Findings::default();
    let [device, platform] = both(&findings, &bench);
    let languages = named!(CL_DEVICE_ILS_WITH_VERSION);
    for (asked, text, list) in [
        (&device, named!(CL_DEVICE_EXTENSIONS), named!(CL_DEVICE_EXTENSIONS_WITH_VERSION)),
        (&platform, named!(CL_PLATFORM_EXTENSIONS), named!(CL_PLATFORM_EXTENSIONS_WITH_VERSION)),
        (&device, named!(CL_DEVICE_IL_VERSION), languages),
    ] {
        let name = |(name, (major, minor)): (String, Version)| match list == languages {
            true => format!("{name}_{major}.{minor}"),
            false => name,
        };
        let wanted = words(asked, text);
        let mut found: Vec<String> = names(asked, list).into_iter().map(name).collect();
        found.sort_unstable();
        if !found.iter().eq(&wanted) {
            let rule = format!("once each name of {}, {wanted:?}", text.name);
            asked.add(list, rule, format_args!("{found:?}"));
        }
    }
}
