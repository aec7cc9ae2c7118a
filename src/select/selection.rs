//! The selection of devices by a text such as `0:0,1;intel:i5`.
//!
//! The grammar is that of PYOPENCL_TEST (`pyopencl.tools`): entries separated by `;`, each a platform or
//! `PLATFORM:DEVICE,DEVICE,...`. The name of a platform or device is an index if Python's `int` would read it (so
//! `-1` is the last one), else a part of "name vendor" in any case, and the first match counts. An empty name is part
//! of every name. A platform alone means all its devices. No entries at all mean every device.
//!
//! Beyond PyOpenCL:
//! - `=` may replace `:` in an entry that has no `:`;
//! - a device that is chosen twice counts once, at its first place, since a test has one result per device; and an
//!   empty selection is an error, never an empty list;
//! - [`Selection::parse_clmatrix`] also takes patterns with `*`, `?` and `[...]`, which select every match. A pattern
//!   must match, in any case, the whole of one of these: the name, the vendor, one of the device's types (`CPU`,
//!   `GPU`, ...), or all of them as "name vendor type". So `*h200` and `nvidia*` match as expected, `*:gpu*` is every
//!   GPU, and `intel:*` is all of the first platform with "intel" in its name or vendor. Platforms that match a
//!   pattern but lack the device are skipped, as long as one platform has it. There, a name that is not part of any
//!   "name vendor" may also be part of a type: `pocl:cpu`.

use std::collections::HashSet;

use globset::{GlobBuilder, GlobMatcher};

use super::catalog::{DeviceInfo, DeviceType, PlatformInfo};
use super::error::{Piece, SelectionError, listing};

/// A selection of devices that has been parsed but not resolved.
#[derive(Clone, Debug)]
pub struct Selection {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    platform: Named,
    /// `None`: all of them.
    devices: Option<Vec<Named>>,
}

/// A name in a selection, and the rule for its matches.
#[derive(Clone, Debug)]
struct Named {
    piece: Piece,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
pub(super) enum Matcher {
    Index(i64),
    /// In lower case.
    Part {
        text: String,
        /// True if it may be part of a type if it is part of no name or vendor.
        or_type: bool,
    },
    Pattern(GlobMatcher),
}

/// True if `*`, `?` and `[...]` are patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Pyopencl,
    Clmatrix,
}

impl Selection {
    /// Parses the value of PYOPENCL_TEST (`pyopencl.tools.get_test_platforms_and_devices`).
    ///
    /// # Errors
    /// [`SelectionError::Syntax`].
    pub fn parse_pyopencl(text: &str) -> Result<Self, SelectionError> {
        Self::parse(text, Dialect::Pyopencl)
    }

    /// Parses a selection as [`parse_pyopencl`](Self::parse_pyopencl) does, with patterns.
    ///
    /// # Errors
    /// [`SelectionError::Syntax`] and [`SelectionError::Pattern`].
    pub fn parse_clmatrix(text: &str) -> Result<Self, SelectionError> {
        Self::parse(text, Dialect::Clmatrix)
    }

    fn parse(text: &str, dialect: Dialect) -> Result<Self, SelectionError> {
        let entries = match text {
            "" => Ok(Vec::new()),
            _ => text
                .split(';')
                .enumerate()
                .map(|(index, text)| Entry::parse(index + 1, text, dialect))
                .collect(),
        };
        Ok(Self { entries: entries? })
    }

    /// Returns the selected devices as pairs of the index of a platform and the index of a device in it, each once, in
    /// the order of their names. Never empty.
    ///
    /// # Errors
    /// An error that lists the available devices for a name that matches none.
    pub fn resolve(
        &self,
        platforms: &[PlatformInfo],
    ) -> Result<Vec<(usize, usize)>, SelectionError> {
        let mut chosen = Vec::new();
        for entry in &self.entries {
            chosen.extend(entry.resolve(platforms)?);
        }
        if self.entries.is_empty() {
            chosen.extend((0..platforms.len()).flat_map(|index| all_devices(platforms, index)));
            if chosen.is_empty() {
                return Err(SelectionError::NoDevices { found: listing(platforms) });
            }
        }
        let mut seen = HashSet::new();
        chosen.retain(|position| seen.insert(*position));
        Ok(chosen)
    }
}

impl Entry {
    fn parse(entry: usize, text: &str, dialect: Dialect) -> Result<Self, SelectionError> {
        let separator = if text.contains(':') { ':' } else { '=' };
        let named = |text| Named::parse(entry, text, dialect);
        let parts: Vec<&str> = text.split(separator).collect();
        match parts[..] {
            [platform] => Ok(Self { platform: named(platform)?, devices: None }),
            [platform, devices] => Ok(Self {
                platform: named(platform)?,
                devices: Some(devices.split(',').map(named).collect::<Result<_, _>>()?),
            }),
            _ => Err(SelectionError::Syntax(Piece { entry, text: text.to_owned() })),
        }
    }

    fn resolve(&self, platforms: &[PlatformInfo]) -> Result<Vec<(usize, usize)>, SelectionError> {
        let mut chosen = self.platform.find_platforms(platforms)?;
        let platform_names = names(platforms, &chosen);
        chosen.retain(|&index| !platforms[index].devices.is_empty());
        if chosen.is_empty() {
            return Err(SelectionError::WithoutDevices {
                piece: self.platform.piece.clone(),
                platforms: platform_names,
                found: listing(platforms),
            });
        }
        let Some(devices) = &self.devices else {
            return Ok(chosen.iter().flat_map(|&index| all_devices(platforms, index)).collect());
        };
        let mut positions = Vec::new();
        for device in devices {
            positions.extend(device.find_devices(platforms, &chosen)?);
        }
        Ok(positions)
    }
}

fn all_devices(
    platforms: &[PlatformInfo],
    platform: usize,
) -> impl Iterator<Item = (usize, usize)> + use<> {
    (0..platforms[platform].devices.len()).map(move |device| (platform, device))
}

fn names(platforms: &[PlatformInfo], chosen: &[usize]) -> String {
    let names: Vec<String> =
        chosen.iter().map(|&index| format!("{:?}", platforms[index].name)).collect();
    names.join(", ")
}

impl Named {
    fn parse(entry: usize, text: &str, dialect: Dialect) -> Result<Self, SelectionError> {
        let piece = Piece { entry, text: text.to_owned() };
        match Matcher::parse(text, dialect) {
            Ok(matcher) => Ok(Self { piece, matcher }),
            Err(reason) => Err(SelectionError::Pattern { piece, reason }),
        }
    }

    fn find_platforms(&self, platforms: &[PlatformInfo]) -> Result<Vec<usize>, SelectionError> {
        let matches = self.matcher.find(platforms);
        if !matches.is_empty() {
            return Ok(matches);
        }
        let (piece, found) = (self.piece.clone(), listing(platforms));
        Err(match self.matcher {
            Matcher::Index(_) => SelectionError::PlatformIndex { piece, found },
            _ => SelectionError::NoSuchPlatform { piece, found },
        })
    }

    fn find_devices(
        &self,
        platforms: &[PlatformInfo],
        on: &[usize],
    ) -> Result<Vec<(usize, usize)>, SelectionError> {
        let positions: Vec<(usize, usize)> = on
            .iter()
            .flat_map(|&platform| {
                let devices = self.matcher.find(&platforms[platform].devices);
                devices.into_iter().map(move |device| (platform, device))
            })
            .collect();
        if !positions.is_empty() {
            return Ok(positions);
        }
        let piece = self.piece.clone();
        let (platforms, found) = (names(platforms, on), listing(platforms));
        Err(match self.matcher {
            Matcher::Index(_) => SelectionError::DeviceIndex { piece, platforms, found },
            _ => SelectionError::NoSuchDevice { piece, platforms, found },
        })
    }
}

fn pattern(text: &str) -> Result<GlobMatcher, String> {
    // A device's name is not a path: `*` crosses slashes, and a backslash is itself.
    GlobBuilder::new(text)
        .case_insensitive(true)
        .literal_separator(false)
        .backslash_escape(false)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

impl Matcher {
    /// Reads a name; the error is the reason why a pattern is invalid.
    pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Self, String> {
        Ok(if let Some(index) = python_int(text) {
            Self::Index(index)
        } else if dialect == Dialect::Clmatrix && text.contains(['*', '?', '[']) {
            Self::Pattern(pattern(text)?)
        } else {
            Self::Part { text: text.to_lowercase(), or_type: dialect == Dialect::Clmatrix }
        })
    }

    /// Returns the indices of the candidates that match: at most one, or any number for a pattern.
    pub(super) fn find<T: Describe>(&self, candidates: &[T]) -> Vec<usize> {
        let positions = 0..candidates.len();
        match self {
            Self::Index(index) => {
                let from_the_end = if *index < 0 { candidates.len() as i64 } else { 0 };
                let position = usize::try_from(index.saturating_add(from_the_end)).ok();
                position.filter(|position| positions.contains(position)).into_iter().collect()
            }
            Self::Part { text, or_type } => {
                let by_name =
                    |&position: &usize| candidates[position].name_and_vendor().contains(text);
                let by_type = |&position: &usize| *or_type && candidates[position].has_type(text);
                let first = positions.clone().find(by_name);
                first.or_else(|| positions.clone().find(by_type)).into_iter().collect()
            }
            Self::Pattern(pattern) => positions
                .filter(|&position| {
                    candidates[position].faces().iter().any(|face| pattern.is_match(face))
                })
                .collect(),
        }
    }
}

/// The texts by which a platform or device is recognised.
pub(super) trait Describe {
    /// Returns the name, the vendor and the types, of which a platform has none.
    fn described(&self) -> (&str, &str, DeviceType);

    /// Returns the text that PyOpenCL searches: "name vendor" in lower case.
    fn name_and_vendor(&self) -> String {
        let (name, vendor, _) = self.described();
        format!("{name} {vendor}").to_lowercase()
    }

    /// Returns whether `part`, in lower case, is part of the name of a type.
    fn has_type(&self, part: &str) -> bool {
        let (.., types) = self.described();
        types.iter_names().any(|(name, _)| name.to_lowercase().contains(part))
    }

    /// Returns the texts that a pattern may match as a whole.
    fn faces(&self) -> Vec<String> {
        let (name, vendor, types) = self.described();
        let types: Vec<&str> = types.iter_names().map(|(name, _)| name).collect();
        let mut all = format!("{name} {vendor}");
        if !types.is_empty() {
            all = format!("{all} {}", types.join("|"));
        }
        [name, vendor, &all].into_iter().chain(types).map(str::to_owned).collect()
    }
}

impl Describe for PlatformInfo {
    fn described(&self) -> (&str, &str, DeviceType) {
        (self.name.as_str(), self.vendor.as_str(), DeviceType::empty())
    }
}

impl Describe for DeviceInfo {
    fn described(&self) -> (&str, &str, DeviceType) {
        (self.name.as_str(), self.vendor.as_str(), self.device_type)
    }
}

/// Returns the value of Python's `int(text)` for ASCII digits; `None` where it raises ValueError. Numbers
/// beyond `i64` are out of any range, and become its bounds.
pub(super) fn python_int(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let groups_are_digits = digits
        .split('_')
        .all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    groups_are_digits.then(|| {
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|byte| i64::from(byte - b'0'));
        digits.fold(0_i64, |number, digit| number.saturating_mul(10).saturating_add(sign * digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::sample;

    /// `platform:device` for each device, or `none` where there is an error.
    fn resolved(
        selection: Result<Selection, SelectionError>,
        platforms: &[PlatformInfo],
    ) -> String {
        let Ok(positions) = selection.and_then(|selection| selection.resolve(platforms)) else {
            return "none".to_owned();
        };
        let positions: Vec<String> =
            positions.iter().map(|(platform, device)| format!("{platform}:{device}")).collect();
        positions.join(" ")
    }

    /// The answers of PyOpenCL 2026.1.4 for these platforms, each device once; where it gives no
    /// device, an error is expected here.
    #[test]
    fn pyopencl_test_selects_devices_as_in_pyopencl() {
        let platforms = sample::platforms();
        for (text, expected) in [
            ("0", "0:0 0:1 0:2"),
            ("1", "none"),
            ("2", "2:0"),
            ("-1", "4:0"),
            ("-2", "3:0 3:1"),
            ("-5", "0:0 0:1 0:2"),
            ("-6", "none"),
            ("4", "4:0"),
            ("5", "none"),
            ("+3", "3:0 3:1"),
            ("+ 3", "none"),
            (" 3 ", "3:0 3:1"),
            ("\t3", "3:0 3:1"),
            ("\x1c3", "none"),
            ("3_0", "none"),
            ("0_3", "3:0 3:1"),
            ("_3", "none"),
            ("3_", "none"),
            ("0__3", "none"),
            ("003", "3:0 3:1"),
            ("-0", "0:0 0:1 0:2"),
            ("--1", "none"),
            ("+-1", "none"),
            ("3.0", "none"),
            ("0x3", "none"),
            ("1e0", "none"),
            ("99999999999999999999", "none"),
            ("-99999999999999999999", "none"),
            ("९", "none"),
            ("intel", "0:0 0:1 0:2"),
            ("INTEL", "0:0 0:1 0:2"),
            ("intel(r) opencl graphics", "4:0"),
            ("graphics", "4:0"),
            ("pocl", "2:0"),
            ("portable", "2:0"),
            (" intel", "0:0 0:1 0:2"),
            ("intel ", "none"),
            ("cuda nvidia", "3:0 3:1"),
            ("opencl intel", "0:0 0:1 0:2"),
            ("mesa", "none"),
            ("clover", "none"),
            ("amd", "none"),
            ("nothing", "none"),
            ("", "0:0 0:1 0:2 2:0 3:0 3:1 4:0"),
            (";", "0:0 0:1 0:2"),
            ("0;", "0:0 0:1 0:2"),
            ("; 3", "0:0 0:1 0:2 3:0 3:1"),
            (":", "0:0"),
            ("0:", "0:0"),
            (":0", "0:0"),
            (":,", "0:0"),
            ("0:0", "0:0"),
            ("0:1", "0:1"),
            ("0:2", "0:2"),
            ("0:3", "none"),
            ("0:-1", "0:2"),
            ("0:-3", "0:0"),
            ("0:-4", "none"),
            ("0:0,1", "0:0 0:1"),
            ("0:1,0", "0:1 0:0"),
            ("0:0,0", "0:0"),
            ("0:,1", "0:0 0:1"),
            ("0:1,", "0:1 0:0"),
            ("0: 1", "0:1"),
            ("0:1 ,2", "0:1 0:2"),
            ("intel:i5", "0:0"),
            ("intel:i7", "0:1"),
            ("intel:i5,i7", "0:0 0:1"),
            ("intel:i7,i5", "0:1 0:0"),
            ("intel:amd", "0:2"),
            ("intel:corp", "0:0"),
            ("intel:core(tm) i7-8550u intel", "0:1"),
            ("intel:zz", "none"),
            ("3:0", "3:0"),
            ("3:1", "3:1"),
            ("3:h200", "3:0"),
            ("3:h200,1", "3:0 3:1"),
            ("3:2", "none"),
            ("nvidia:h200", "3:0"),
            ("1:0", "none"),
            ("1:", "none"),
            ("mesa:x", "none"),
            ("0;2", "0:0 0:1 0:2 2:0"),
            ("2;0", "2:0 0:0 0:1 0:2"),
            ("0:0,1;3:1", "0:0 0:1 3:1"),
            ("0:0;0:0", "0:0"),
            ("0;0:1", "0:0 0:1 0:2"),
            ("0:0:0", "none"),
            ("a:b:c", "none"),
            ("0::1", "none"),
            ("0:i5;3:1:2", "none"),
            ("graphics:=a770", "4:0"),
            ("graphics:arc(tm)=a770", "4:0"),
            ("3;3", "3:0 3:1"),
            ("-1:0", "4:0"),
            ("-2:-1", "3:1"),
            ("intel:i5;;pocl", "0:0 0:1 0:2 2:0"),
            ("4:0,0;4", "4:0"),
        ] {
            assert_eq!(resolved(Selection::parse_pyopencl(text), &platforms), expected, "{text:?}");
            // Without patterns, both dialects are the same.
            assert_eq!(resolved(Selection::parse_clmatrix(text), &platforms), expected, "{text:?}");
        }
    }

    #[test]
    fn patterns_extend_the_selections_of_pyopencl() {
        let platforms = sample::platforms();
        for (text, expected) in [
            ("0=0,1", "0:0 0:1"),
            ("intel=i5,i7;nvidia=1", "0:0 0:1 3:1"),
            ("graphics:arc(tm)=a770", "4:0"),
            ("0=1=2", "none"),
        ] {
            assert_eq!(resolved(Selection::parse_pyopencl(text), &platforms), expected, "{text:?}");
        }
        for (text, expected) in [
            ("*", "0:0 0:1 0:2 2:0 3:0 3:1 4:0"),
            ("*:*", "0:0 0:1 0:2 2:0 3:0 3:1 4:0"),
            ("intel:*", "0:0 0:1 0:2"),
            ("intel*:*", "0:0 0:1 0:2 4:0"),
            ("INTEL*", "0:0 0:1 0:2 4:0"),
            ("*:gpu", "3:0 4:0"),
            ("pocl:cpu", "2:0"),
            ("0:accelerator", "none"),
            ("*:gpu*", "3:0 3:1 4:0"),
            ("*:*gpu*", "3:0 3:1 4:0"),
            ("*:[cC]pu", "0:0 0:1 0:2 2:0"),
            ("nvidia:*h200", "3:0 3:1"),
            ("*:*h200*,*epyc*", "3:0 3:1 0:2 2:0"),
            ("*:0", "0:0 2:0 3:0 4:0"),
            ("*:1", "0:1 3:1"),
            ("*:-1", "0:2 2:0 3:1 4:0"),
            ("*:epyc", "0:2 2:0"),
            ("*:7", "none"),
            ("*:*;0:0", "0:0 0:1 0:2 2:0 3:0 3:1 4:0"),
            ("?over", "none"),
            ("mesa*", "none"),
            ("*cuda", "3:0 3:1"),
            ("cuda*", "none"),
            ("*:i[57]*", "none"),
            ("*:*i[57]-*", "0:0 0:1"),
            ("0:[", "none"),
        ] {
            assert_eq!(resolved(Selection::parse_clmatrix(text), &platforms), expected, "{text:?}");
        }
    }

    #[test]
    fn errors_name_the_piece_and_what_there_is() {
        let platforms = sample::platforms();
        let error = |text: &str| {
            Selection::parse_clmatrix(text)
                .and_then(|selection| selection.resolve(&platforms))
                .unwrap_err()
                .to_string()
        };
        for (text, start) in [
            ("0;a:b:c", "\"a:b:c\" (entry 2): expected PLATFORM"),
            ("0;7", "platform index \"7\" (entry 2) is out of range"),
            ("radeon", "no platform matches \"radeon\" (entry 1)"),
            ("0:i5,9", "device index \"9\" (entry 1) is out of range on \"Intel(R) OpenCL\""),
            ("0:zz", "no device matches \"zz\" (entry 1) on \"Intel(R) OpenCL\""),
            ("1", "\"1\" (entry 1) chooses \"Clover\", which has no device"),
            ("*:[", "\"[\" (entry 1): not a pattern: "),
        ] {
            assert!(error(text).starts_with(start), "{text:?}: {}", error(text));
        }
        let listed = error("7");
        assert!(listed.contains("\n  3: NVIDIA CUDA (NVIDIA Corporation)"), "{listed}");
        assert!(listed.contains("\n     1: NVIDIA H200 (NVIDIA Corporation), GPU"), "{listed}");
        assert!(listed.contains("\n  1: Clover (Mesa)\n     no device"), "{listed}");
    }

    #[test]
    fn a_selection_without_devices_finds_none() {
        let nothing: &[PlatformInfo] = &[];
        let clover = &sample::platforms()[1..2];
        for text in ["", "0", "*", "*:*", "0:0", "clover", ";"] {
            for platforms in [nothing, clover] {
                assert_eq!(
                    resolved(Selection::parse_clmatrix(text), platforms),
                    "none",
                    "{text:?}"
                );
            }
        }
    }
}
