use super::module::Memory;

/// The registers of a thread that determine its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The address of the instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer.
    pub frame: u64,
    /// The return address of a function that has not stored it, if a register has it.
    pub link: u64,
}

/// The number of registers.
pub const REGISTERS: usize = 4;

impl Registers {
    /// Returns the registers with these numbers.
    pub fn from_numbers([instruction, stack, frame, link]: [u64; REGISTERS]) -> Self {
        Self { instruction, stack, frame, link }
    }

    /// Returns whether the instruction follows a system call of x86-64. On other processors, frames of signal handlers
    /// are not distinguished from others.
    pub fn is_after_system_call(self, memory: &Memory) -> bool {
        let before = self.instruction.checked_sub(2).filter(|_| cfg!(target_arch = "x86_64"));
        before
            .and_then(|before| memory.word(before))
            .is_some_and(|word| word & 0xffff == SYSTEM_CALL)
    }
}

/// The instruction of a system call, `syscall`.
const SYSTEM_CALL: u64 = 0x050f;

/// The code to which the handler of a signal returns: `mov $15, %rax; syscall`, without its last byte.
#[cfg(target_arch = "x86_64")]
const RETURN_FROM_SIGNAL: u64 = 0x0f00_0000_0fc0_c748;

/// Returns the registers of a thread when a signal was delivered, in the order of their fields.
#[cfg(target_arch = "x86_64")]
pub fn of_signal(context: &libc::ucontext_t) -> [u64; REGISTERS] {
    let registers = &context.uc_mcontext.gregs;
    let register = |number: libc::c_int| registers[number as usize].cast_unsigned();
    [register(libc::REG_RIP), register(libc::REG_RSP), register(libc::REG_RBP), 0]
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// Returns the registers of a stopped thread.
    pub fn of_thread(registers: &libc::user_regs_struct) -> Self {
        Self { instruction: registers.rip, stack: registers.rsp, frame: registers.rbp, link: 0 }
    }

    /// Returns the registers for the unwinder.
    pub fn for_unwinder(self) -> framehop::UnwindRegsNative {
        framehop::UnwindRegsNative::new(self.instruction, self.stack, self.frame)
    }

    /// Returns the registers of the caller, right after a call to an address without code.
    pub fn before_call(self, memory: &Memory) -> Option<Self> {
        Some(Self { instruction: memory.word(self.stack)?, stack: self.stack + 8, ..self })
    }

    /// Returns a signal and the registers when it was delivered, if its handler returns to `instruction` with the
    /// stack pointer `stack`.
    pub fn interrupted(instruction: u64, stack: u64, memory: &Memory) -> Option<(i32, Self)> {
        if memory.word(instruction)? != RETURN_FROM_SIGNAL {
            return None;
        }
        // The stack pointer is that of the context.
        let registers = stack + std::mem::offset_of!(libc::ucontext_t, uc_mcontext) as u64;
        let register = |number: libc::c_int| memory.word(registers + 8 * number as u64);
        // The information on the signal follows the mask of the kernel, of 8 bytes. It begins with the number.
        let information = stack + std::mem::offset_of!(libc::ucontext_t, uc_sigmask) as u64 + 8;
        let signal = memory.word(information)? as i32;
        let [instruction, stack] = [register(libc::REG_RIP)?, register(libc::REG_RSP)?];
        Some((signal, Self { instruction, stack, frame: register(libc::REG_RBP)?, link: 0 }))
    }
}

/// Returns the registers of a thread when a signal was delivered, in the order of their fields.
#[cfg(target_arch = "aarch64")]
pub fn of_signal(context: &libc::ucontext_t) -> [u64; REGISTERS] {
    let libc::mcontext_t { regs, sp, pc, .. } = context.uc_mcontext;
    [pc, sp, regs[29], regs[30]]
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    /// Returns the registers of a stopped thread.
    pub fn of_thread(registers: &libc::user_regs_struct) -> Self {
        let libc::user_regs_struct { regs, sp, pc, .. } = *registers;
        Self { instruction: pc, stack: sp, frame: regs[29], link: regs[30] }
    }

    /// Returns the registers for the unwinder.
    pub fn for_unwinder(self) -> framehop::UnwindRegsNative {
        framehop::UnwindRegsNative::new(self.link, self.stack, self.frame)
    }

    /// Returns the registers of the caller, right after a call to an address without code.
    pub fn before_call(self, _memory: &Memory) -> Option<Self> {
        Some(Self { instruction: self.link, ..self })
    }

    /// Returns `None`: the unwinder has to handle the return from a signal handler.
    pub fn interrupted(_instruction: u64, _stack: u64, _memory: &Memory) -> Option<(i32, Self)> {
        None
    }
}
