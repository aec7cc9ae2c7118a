use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use nix::unistd::Pid;
use object::read::{Object, ObjectSegment, ReadRef};

/// The name of the module that the kernel maps into each process.
pub const VDSO: &str = "[vdso]";

/// An executable or library in the memory of another process.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// The path of the file, or [`VDSO`].
    pub path: String,
    /// The addresses from the first to the last mapping.
    pub range: Range<u64>,
    /// The address of the beginning of the file.
    pub base: u64,
}

impl Module {
    /// Returns the modules of a process, in the order of their addresses.
    pub fn all(process: Pid) -> io::Result<Vec<Self>> {
        let maps = fs::read(format!("/proc/{process}/maps"))?;
        Ok(Self::of_maps(&String::from_utf8_lossy(&maps)))
    }

    /// Returns the module at an address.
    pub fn at(modules: &[Self], address: u64) -> Option<usize> {
        modules.iter().position(|module| module.range.contains(&address))
    }

    /// Reads lines like `7f00-7f80 r-xp 00001000 08:01 1234   /usr/lib/libOpenCL.so.1`.
    fn of_maps(maps: &str) -> Vec<Self> {
        let mut modules: Vec<Self> = Vec::new();
        for (range, offset, path) in maps.lines().filter_map(mapping) {
            match modules.last_mut() {
                // A file may be loaded twice.
                Some(last) if last.path == path && offset > 0 => last.range.end = range.end,
                _ => {
                    let base = range.start.wrapping_sub(offset);
                    modules.push(Self { path: path.to_owned(), range, base });
                }
            }
        }
        modules
    }
}

/// Returns the addresses, the offset in the file, and the path; `None` for memory without a file.
fn mapping(line: &str) -> Option<(Range<u64>, u64, &str)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let _permissions = fields.next()?;
    let offset = fields.next()?;
    let path = fields.nth(2)?.trim_start();
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let is_module = path.starts_with('/') || path == VDSO;
    is_module.then_some(())?;
    Some((hexadecimal(start)?..hexadecimal(end)?, hexadecimal(offset)?, path))
}

/// Returns the address that the linker gave to the beginning of a file.
pub fn first_address<'d>(object: &object::File<'d, impl ReadRef<'d>>) -> u64 {
    let begins = |segment: &object::Segment<'d, '_, _>| segment.file_range().0 == 0;
    object.segments().find(begins).map_or(0, |segment| segment.address())
}

/// Reads a part of a file.
pub fn bytes(file: &File, at: u64, length: usize) -> Option<Vec<u8>> {
    // The length in a broken file may be any number.
    let end = at.checked_add(length as u64)?;
    file.metadata().ok().filter(|file| end <= file.len())?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

/// The memory of another process.
pub struct Memory(File);

impl Memory {
    /// Opens the memory of a process. The caller may trace it.
    pub fn open(process: Pid) -> io::Result<Self> {
        File::open(format!("/proc/{process}/mem")).map(Self)
    }

    /// Reads a word.
    pub fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_ne_bytes(bytes))
    }

    /// Reads a range.
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, address).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_a_file_are_a_module() {
        let maps = "\
55d0c0000000-55d0c0001000 r--p 00000000 08:01 11                         /bin/a b
55d0c0001000-55d0c0003000 r-xp 00001000 08:01 11                         /bin/a b
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]
7f0000000000-7f0000001000 r-xp 00000000 08:01 12                         /lib/libx.so
7f0000001000-7f0000002000 rw-p 00001000 08:01 12                         /lib/libx.so
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
7f0000003000-7f0000004000 r-xp 00000000 08:01 12                         /lib/libx.so
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
7ffd00040000-7ffd00042000 r-xp 00000000 00:00 0                          [vdso]
";
        let module = |path: &str, range: Range<u64>| {
            let base = range.start;
            Module { path: path.to_owned(), range, base }
        };
        let modules = [
            module("/bin/a b", 0x55d0_c000_0000..0x55d0_c000_3000),
            module("/lib/libx.so", 0x7f00_0000_0000..0x7f00_0000_2000),
            // Loaded twice.
            module("/lib/libx.so", 0x7f00_0000_3000..0x7f00_0000_4000),
            module("[vdso]", 0x7ffd_0004_0000..0x7ffd_0004_2000),
        ];
        assert_eq!(Module::of_maps(maps), modules);
        assert_eq!(Module::at(&modules, 0x7f00_0000_1fff), Some(1));
        assert_eq!(Module::at(&modules, 0x7f00_0000_2000), None);
    }
}
