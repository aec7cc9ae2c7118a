//! Processes on Windows.

use std::ffi::c_void;
use std::io;
use std::net::TcpStream;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::{
    EXCEPTION_POINTERS, SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
    SetUnhandledExceptionFilter,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};
use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;

use crate::os::{ExitCause, exit_now};

/// Advice for a machine without a driver.
pub const DRIVER_ADVICE: &str = "install the driver of the GPU's vendor, or Intel's CPU runtime";

/// A worker and the processes that it starts: a job object. The system ends them when the runner ends, which alone has
/// a handle of the job.
pub struct Family(OwnedHandle);

impl Family {
    /// Creates an empty family.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the job has no name and no attributes.
        let job = unsafe { CreateJobObjectW(ptr::null(), ptr::null()) };
        if job.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle is new, and this value is its only owner.
        let job = unsafe { OwnedHandle::from_raw_handle(job) };
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags =
            JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        // SAFETY: the job is open, and the information is of the named type and length.
        succeeds(unsafe {
            SetInformationJobObject(
                job.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const limits).cast::<c_void>(),
                size_of_val(&limits) as u32,
            )
        })?;
        Ok(Self(job))
    }

    /// Shields the child from Ctrl-C of the runner's console.
    pub fn prepare(command: &mut Command) {
        command.creation_flags(CREATE_NEW_PROCESS_GROUP);
    }

    /// Adds a child, and with it all processes that it starts from now on.
    pub fn add(&self, child: &Child) -> io::Result<()> {
        // SAFETY: both handles are open.
        succeeds(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), child.as_raw_handle()) })
    }

    /// Kills all processes of the family.
    pub fn kill(&self) {
        // SAFETY: the job is open. It fails where no process is left.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), 1) };
    }
}

fn succeeds(result: i32) -> io::Result<()> {
    match result {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns whether a read of this pipe returns bytes or the end at once; false after the end.
pub fn is_readable(pipe: &Option<impl AsRawHandle>) -> bool {
    let Some(pipe) = pipe else { return false };
    let mut available = 0;
    let (nothing, handle) = (ptr::null_mut(), pipe.as_raw_handle());
    // SAFETY: the handle is open, and only the number of bytes is requested.
    let result = unsafe {
        PeekNamedPipe(handle, nothing, 0, ptr::null_mut(), &mut available, ptr::null_mut())
    };
    // The call fails at the end.
    result == 0 || available > 0
}

/// Returns whether a process has ended. Its handle keeps its id its own.
pub fn has_ended(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(Some(_)))
}

/// The exit statuses of processes that the system has ended.
const STATUSES: [(u32, &str); 21] = [
    (0x4000_0015, "STATUS_FATAL_APP_EXIT"),
    (0x8000_0003, "STATUS_BREAKPOINT"),
    (0x8000_0004, "STATUS_SINGLE_STEP"),
    (0xC000_0005, "STATUS_ACCESS_VIOLATION"),
    (0xC000_0006, "STATUS_IN_PAGE_ERROR"),
    (0xC000_0008, "STATUS_INVALID_HANDLE"),
    (0xC000_0017, "STATUS_NO_MEMORY"),
    (0xC000_001D, "STATUS_ILLEGAL_INSTRUCTION"),
    (0xC000_0025, "STATUS_NONCONTINUABLE_EXCEPTION"),
    (0xC000_008E, "STATUS_FLOAT_DIVIDE_BY_ZERO"),
    (0xC000_0094, "STATUS_INTEGER_DIVIDE_BY_ZERO"),
    (0xC000_0096, "STATUS_PRIVILEGED_INSTRUCTION"),
    (0xC000_00FD, "STATUS_STACK_OVERFLOW"),
    (0xC000_0135, "STATUS_DLL_NOT_FOUND"),
    (0xC000_0139, "STATUS_ENTRYPOINT_NOT_FOUND"),
    (0xC000_013A, "STATUS_CONTROL_C_EXIT"),
    (0xC000_0142, "STATUS_DLL_INIT_FAILED"),
    (0xC000_0374, "STATUS_HEAP_CORRUPTION"),
    (0xC000_0409, "STATUS_STACK_BUFFER_OVERRUN"),
    (0xC000_0417, "STATUS_INVALID_CRUNTIME_PARAMETER"),
    (0xE06D_7363, "C++ exception"),
];

/// Returns the cause of the end of a process. The statuses of errors of the system begin with the digit C.
pub fn exit_cause(status: ExitStatus) -> ExitCause {
    let code = status.code().unwrap_or_default();
    let status = code.cast_unsigned();
    match STATUSES.iter().find(|(known, _)| *known == status) {
        Some((_, name)) => ExitCause::Signalled(format!("{name} ({status:#010X})")),
        None if status >> 28 == 0xC => ExitCause::Signalled(format!("status {status:#010X}")),
        None => ExitCause::Exited(code),
    }
}

/// Keeps a crash of this process from opening a window or a debugger, either of which may wait forever.
pub fn leave_crashes_to_the_runner() {
    // SAFETY: the call takes flags.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
    // SAFETY: the function stays in memory.
    unsafe { SetUnhandledExceptionFilter(Some(end_of_crash)) };
}

/// Ends the process with the code of an exception that no other handler handles.
unsafe extern "system" fn end_of_crash(exception: *const EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system passes both structures.
    exit_now(unsafe { (*(*exception).ExceptionRecord).ExceptionCode })
}

/// Does nothing: the system ends the job with the runner.
pub fn end_with_the_runner(_connection: &TcpStream) -> io::Result<()> {
    Ok(())
}

/// Returns the model of the first processor.
pub fn cpu() -> Option<String> {
    std::env::var("PROCESSOR_IDENTIFIER").ok()
}

/// Returns the memory of the machine, in bytes.
pub fn memory() -> Option<u64> {
    let mut status =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: the structure has its length.
    let result = unsafe { GlobalMemoryStatusEx(&mut status) };
    (result != 0).then_some(status.ullTotalPhys)
}

#[cfg(test)]
mod tests {
    use std::os::windows::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_crash_has_the_name_of_its_status() {
        let cause = |status: u32| exit_cause(ExitStatus::from_raw(status));
        let named = |name: &str| ExitCause::Signalled(name.to_owned());
        assert_eq!(cause(0xC000_0005), named("STATUS_ACCESS_VIOLATION (0xC0000005)"));
        assert_eq!(cause(0xC123_4567), named("status 0xC1234567"));
        assert_eq!(cause(7), ExitCause::Exited(7));
        assert_eq!(cause(u32::MAX), ExitCause::Exited(-1));
    }
}
