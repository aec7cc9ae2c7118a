use std::time::Instant;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Unwinder,
    UnwinderNative,
};
use object::read::{Object, ObjectSection, ReadCache, ReadRef};

use super::Registers;
use super::module::{self, Memory, Module, VDSO, first_address};
use crate::files::open_found;
use crate::stacks::MOST_FRAMES;

/// The mark of the return from a signal handler among addresses.
pub const SIGNAL_HANDLER: u64 = u64::MAX;

/// In place of the frames between the innermost and the outermost ones of a deep stack.
pub const LEFT_OUT: u64 = u64::MAX - 1;

/// The outermost frames of a deep stack that are kept.
const OUTERMOST: usize = 48;

/// The most frames that are unwound: a damaged stack may have no end.
const MOST_UNWOUND: usize = 1 << 18;

/// Unwinds the stacks of a stopped process.
pub struct Unwinding<'a> {
    memory: &'a Memory,
    modules: &'a [Module],
    deadline: Instant,
    /// True for each module that the unwinder has.
    is_loaded: Vec<bool>,
    unwinder: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl<'a> Unwinding<'a> {
    pub fn new(memory: &'a Memory, modules: &'a [Module], deadline: Instant) -> Self {
        let is_loaded = vec![false; modules.len()];
        let (unwinder, cache) = (UnwinderNative::new(), CacheNative::new());
        Self { memory, modules, deadline, is_loaded, unwinder, cache }
    }

    /// Returns the addresses of the calls of a thread, the innermost first, and the reason why the last one is not
    /// the outermost. `signal` has crashed the thread. If the handler of a driver has caught the signal and sent it
    /// again, the addresses are those of its first delivery.
    pub fn addresses(
        &mut self,
        mut registers: Registers,
        signal: Option<i32>,
    ) -> (Vec<u64>, Option<String>) {
        let memory = self.memory;
        // A fault is delivered at its instruction, and never after a system call.
        let sent = signal.filter(|_| registers.is_after_system_call(memory));
        let mut addresses = Vec::new();
        if Module::at(self.modules, registers.instruction).is_none()
            && let Some(caller) = registers.before_call(memory)
            && Module::at(self.modules, caller.instruction).is_some()
        {
            // A call of a null pointer.
            addresses.push(registers.instruction);
            registers = caller;
        }
        let mut address = FrameAddress::from_instruction_pointer(registers.instruction);
        let mut registers = registers.for_unwinder();
        let mut word = |address| memory.word(address).ok_or(());
        for _ in 0..MOST_UNWOUND {
            if addresses.len() == MOST_FRAMES {
                // The outermost frames tell whose thread it is.
                addresses[MOST_FRAMES - OUTERMOST - 1] = LEFT_OUT;
                addresses.remove(MOST_FRAMES - OUTERMOST);
            }
            addresses.push(address.address_for_lookup());
            if Instant::now() > self.deadline {
                return (addresses, Some("the time for unwinding is over".to_owned()));
            }
            if let FrameAddress::ReturnAddress(instruction) = address
                && let Some((signal, at)) =
                    Registers::interrupted(instruction.get(), registers.sp(), memory)
            {
                if sent == Some(signal) {
                    return self.addresses(at, None);
                }
                let handler = addresses.last_mut().expect("the address was added");
                *handler = SIGNAL_HANDLER;
                address = FrameAddress::from_instruction_pointer(at.instruction);
                registers = at.for_unwinder();
                continue;
            }
            self.load_module_at(address.address_for_lookup());
            let Self { unwinder, cache, .. } = self;
            let caller = unwinder.unwind_frame(address, &mut registers, cache, &mut word);
            match caller.map(|caller| caller.and_then(FrameAddress::from_return_address)) {
                Ok(Some(caller)) => address = caller,
                Ok(None) => return (addresses, None),
                Err(error) => return (addresses, Some(error.to_string())),
            }
        }
        (addresses, Some("the stack is too deep".to_owned()))
    }

    /// Loads into the unwinder the module at an address.
    fn load_module_at(&mut self, address: u64) {
        let Some(at) = Module::at(self.modules, address) else { return };
        if std::mem::replace(&mut self.is_loaded[at], true) {
            return;
        }
        let Module { path, range, base } = &self.modules[at];
        let sections = if path == VDSO {
            let image = self.memory.bytes(range.start, (range.end - range.start) as usize);
            image.and_then(|image| {
                let part = |at: u64, length| image.get(at as usize..)?.get(..length);
                sections(&*image, |at, length| part(at, length).map(<[u8]>::to_vec))
            })
        } else {
            open_found(path.as_ref()).ok().and_then(|file| {
                sections(&ReadCache::new(&file), |at, length| module::bytes(&file, at, length))
            })
        };
        if let Some(sections) = sections {
            let module = framehop::Module::new(path.clone(), range.clone(), *base, sections);
            self.unwinder.add_module(module);
        }
    }
}

/// Returns the tables of a file by which its functions are unwound. `read` reads a part of the file.
fn sections<'d>(
    data: impl ReadRef<'d>,
    read: impl Fn(u64, usize) -> Option<Vec<u8>>,
) -> Option<ExplicitModuleSectionInfo<Vec<u8>>> {
    let object = object::File::parse(data).ok()?;
    let range = |name| {
        let section = object.section_by_name(name)?;
        Some(section.address()..section.address() + section.size())
    };
    let bytes = |name| {
        let (at, length) = object.section_by_name(name)?.file_range()?;
        read(at, length as usize)
    };
    Some(ExplicitModuleSectionInfo {
        base_svma: first_address(&object),
        text_svma: range(".text"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: bytes(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: bytes(".eh_frame_hdr"),
        got_svma: range(".got"),
        ..ExplicitModuleSectionInfo::default()
    })
}
