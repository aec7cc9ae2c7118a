//! The names of the functions of a process, and their places in the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use addr2line::demangle_auto;
use addr2line::gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::read::{CompressionFormat, Object, ObjectSection, ObjectSymbol, ReadCache, SymbolKind};

use super::module::{self, Module, first_address};
use super::unwinding::{LEFT_OUT, SIGNAL_HANDLER};
use crate::files::open_found;
use crate::stacks::{FRAMES_LEFT_OUT, Frame};
use crate::verdict::Location;

type ObjectFile<'d> = object::File<'d, &'d ReadCache<&'d File>>;

/// The frames at addresses of a process.
pub struct Symbols<'a> {
    modules: &'a [Module],
    /// At each address the frame of the function, after those of the functions that are inlined there.
    frames: BTreeMap<u64, Vec<Frame>>,
}

impl<'a> Symbols<'a> {
    /// Creates frames without names.
    pub fn new(modules: &'a [Module], addresses: BTreeSet<u64>) -> Self {
        let unnamed = |address| {
            let marker = |name: &str| Frame { function: Some(name.to_owned()), ..Frame::default() };
            let module = Module::at(modules, address).map(|at| &modules[at]);
            let in_module = module.map_or(address, |module| address.wrapping_sub(module.base));
            vec![match address {
                SIGNAL_HANDLER => marker("<signal handler called>"),
                LEFT_OUT => marker(FRAMES_LEFT_OUT),
                _ => Frame {
                    module: module.map(|module| module.path.clone()),
                    address: format!("{in_module:#x}"),
                    ..Frame::default()
                },
            }]
        };
        let frames = addresses.into_iter().map(|address| (address, unnamed(address)));
        Self { modules, frames: frames.collect() }
    }

    /// Returns the frames at an address, the innermost first.
    pub fn at(&self, address: u64) -> &[Frame] {
        &self.frames[&address]
    }

    /// Finds the functions in the tables of symbols.
    pub fn find_functions(&mut self) {
        self.for_each_module(|_, object, frames| {
            let addresses: Vec<_> = frames.iter().map(|(address, _)| *address).collect();
            let names = functions_at(object, &addresses);
            for ((address, frames), name) in frames.into_iter().zip(names) {
                for frame in frames {
                    frame.address = format!("{address:#x}");
                    frame.function = name.map(|name| demangle_auto(name.into(), None).into_owned());
                }
            }
        });
    }

    /// Finds the source lines, and the functions that are inlined, in the debug information.
    pub fn find_lines(&mut self) {
        self.for_each_module(|file, object, frames| {
            let Some(sections) = debug_sections(file, object) else { return };
            let dwarf =
                sections.borrow(|section| EndianSlice::new(section, RunTimeEndian::default()));
            let Ok(lines) = addr2line::Context::from_dwarf(dwarf) else { return };
            for (address, frames) in frames {
                add_inlined(&lines, address, frames);
            }
        });
    }

    /// Removes the frames at other addresses.
    pub fn keep(&mut self, addresses: &BTreeSet<u64>) {
        self.frames.retain(|address, _| addresses.contains(address));
    }

    /// Calls a function with the file of each module that has frames, and with the frames at addresses in
    /// the file.
    fn for_each_module(
        &mut self,
        act: impl Fn(&File, &ObjectFile<'_>, Vec<(u64, &mut Vec<Frame>)>),
    ) {
        for module in self.modules {
            let frames = self.frames.range_mut(module.range.clone());
            let mut frames: Vec<_> = frames.map(|(address, frames)| (*address, frames)).collect();
            if frames.is_empty() {
                continue;
            }
            let Ok(file) = open_found(module.path.as_ref()) else { continue };
            let cache = ReadCache::new(&file);
            let Ok(object) = object::File::parse(&cache) else { continue };
            let first = first_address(&object);
            for (address, _) in &mut frames {
                *address = address.wrapping_sub(module.base).wrapping_add(first);
            }
            act(&file, &object, frames);
        }
    }
}

/// Returns the names of the functions at addresses, which are in their order. A table of symbols may have a million, so
/// it is not sorted.
fn functions_at<'d>(object: &ObjectFile<'d>, addresses: &[u64]) -> Vec<Option<&'d str>> {
    let mut found = vec![(0, None); addresses.len()];
    let symbols = object.symbols().chain(object.dynamic_symbols());
    for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let (begin, size) = (symbol.address(), symbol.size());
        let first = addresses.partition_point(|address| *address < begin);
        let is_within = |address: &&u64| **address - begin < size;
        let count = addresses[first..].iter().take_while(is_within).count();
        for (at, name) in &mut found[first..first + count] {
            // The innermost of functions within each other has the name.
            if begin >= *at && symbol.is_definition() {
                (*at, *name) = (begin, symbol.name().ok());
            }
        }
    }
    found.into_iter().map(|(_, name)| name).collect()
}

/// Returns the debug information of a file, if it has any.
fn debug_sections(file: &File, object: &ObjectFile<'_>) -> Option<DwarfSections<Vec<u8>>> {
    object.section_by_name(SectionId::DebugInfo.name())?;
    let bytes = |id: SectionId| {
        let section = object.section_by_name(id.name());
        let range = section.and_then(|section| section.compressed_file_range().ok());
        match range.map(|range| (range.format, range.offset, range.uncompressed_size)) {
            None => Ok(Vec::new()),
            Some((CompressionFormat::None, at, length)) => {
                module::bytes(file, at, length as usize).ok_or(())
            }
            Some(_) => Err(()),
        }
    };
    DwarfSections::load(bytes).ok()
}

type Lines<'a> = addr2line::Context<EndianSlice<'a, RunTimeEndian>>;

/// Adds to a frame its place in the source, and puts those of inlined functions before it.
fn add_inlined(lines: &Lines<'_>, address: u64, frames: &mut Vec<Frame>) {
    let Ok(mut found) = lines.find_frames(address).skip_all_loads() else { return };
    let mut inlined = Vec::new();
    while let Ok(Some(at)) = found.next() {
        let function = at.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
        let location = at.location.and_then(|at| {
            Some(Location { file: at.file?.into(), line: at.line.unwrap_or_default() })
        });
        inlined.push(Frame { function, location, ..frames[0].clone() });
    }
    if let Some(outermost) = inlined.last_mut() {
        // The name in the table of symbols is the whole path.
        outermost.function = frames.remove(0).function.or(outermost.function.take());
        *frames = inlined;
    }
}
