use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_int, sigaction, sigset_t};
use nix::sys::signal::Signal;

use super::LeftBehind;
use crate::os::linux::filled;
use crate::os::linux::library::library_at;

/// Restores the disposition of each signal and the signal mask of the calling thread.
pub fn signals() -> impl Fn(&mut LeftBehind) {
    let dispositions: Vec<(c_int, sigaction)> =
        all().filter_map(|signal| Some((signal, disposition(signal)?))).collect();
    let mask = mask();
    move |left: &mut LeftBehind| {
        for (signal, before) in &dispositions {
            let Some(now) = disposition(*signal) else { continue };
            if is_same(before, &now) || is_a_driver_s(before, &now) {
                continue;
            }
            // SAFETY: the disposition was in force before, and code is not unloaded.
            let is_undone = unsafe { sigaction(*signal, before, ptr::null_mut()) } == 0;
            let change = describe_change(before, &now);
            left.add(format!("{} disposition {change}", name(*signal)), is_undone);
        }
        restore_mask(&mask, left);
    }
}

fn restore_mask(before: &sigset_t, left: &mut LeftBehind) {
    let now = mask();
    if bits(&now) == bits(before) {
        return;
    }
    let blocked = |mask: &sigset_t, signal| {
        // SAFETY: the set is initialized.
        unsafe { libc::sigismember(mask, signal) == 1 }
    };
    let changed: Vec<c_int> =
        all().filter(|&signal| blocked(&now, signal) != blocked(before, signal)).collect();
    // A pending signal would be delivered in the next test.
    discard(changed.iter().copied().filter(|&signal| blocked(&now, signal)));
    // SAFETY: the mask is initialized, and the old one is not requested.
    let is_undone =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) } == 0;
    for signal in changed {
        let change = if blocked(&now, signal) { "blocked" } else { "unblocked" };
        left.add(format!("signal mask: {} {change}", name(signal)), is_undone);
    }
}

fn all() -> impl Iterator<Item = c_int> {
    1..=libc::SIGRTMAX()
}

/// Returns the disposition; `None` for a signal that the C library keeps for itself.
pub fn disposition(signal: c_int) -> Option<sigaction> {
    // SAFETY: no new disposition is given, and the old one is written to `found`, for which all
    // zeros is valid.
    unsafe { filled(|found| sigaction(signal, ptr::null(), found) == 0) }
}

fn mask() -> sigset_t {
    // SAFETY: all zeros is a valid set, to which the call writes the present one, as it gets no new one.
    let mask =
        unsafe { filled(|mask| libc::pthread_sigmask(libc::SIG_SETMASK, ptr::null(), mask) == 0) };
    mask.expect("a thread may read its mask")
}

/// Returns the signals of a set, a bit each. The C library's sets are longer than those of the kernel, and the rest
/// of the set of a disposition is undefined.
fn bits(set: &sigset_t) -> u64 {
    // SAFETY: the set is initialized, and longer than 64 bits.
    unsafe { ptr::from_ref(set).cast::<u64>().read_unaligned() }
}

/// Discards those of `signals` that are pending for this thread or this process.
fn discard(signals: impl Iterator<Item = c_int>) {
    let mut set = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: `sigemptyset` initializes the set; the wait has a timeout of zero and returns no details.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        let no_time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        while libc::sigtimedwait(set.as_ptr(), ptr::null_mut(), &no_time) > 0 {}
    }
}

fn is_handler(disposition: &sigaction) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&disposition.sa_sigaction)
}

/// Compares two dispositions. Mask and flags matter to handlers only.
fn is_same(before: &sigaction, now: &sigaction) -> bool {
    let are_details_same =
        || before.sa_flags == now.sa_flags && bits(&before.sa_mask) == bits(&now.sa_mask);
    before.sa_sigaction == now.sa_sigaction && (!is_handler(now) || are_details_same())
}

/// Returns whether a driver has made the change: it has installed a handler, or removed its own.
fn is_a_driver_s(before: &sigaction, now: &sigaction) -> bool {
    is_of_a_library(now) || !is_handler(now) && is_of_a_library(before)
}

/// Returns whether the handler lies in a library, as those of drivers do: neither in this executable nor in
/// the C library.
fn is_of_a_library(disposition: &sigaction) -> bool {
    let base = |address: *const c_void| library_at(address).map(|library| library.dli_fbase);
    if !is_handler(disposition) {
        return false;
    }
    let own = [is_of_a_library as *const c_void, libc::sigaction as *const c_void];
    base(ptr::without_provenance(disposition.sa_sigaction))
        .is_some_and(|library| !own.into_iter().any(|address| base(address) == Some(library)))
}

fn describe_change(before: &sigaction, now: &sigaction) -> String {
    let describe = |disposition: &sigaction| match disposition.sa_sigaction {
        libc::SIG_DFL => "default",
        libc::SIG_IGN => "ignored",
        _ => "handler",
    };
    match describe(now) {
        "handler" if before.sa_sigaction == now.sa_sigaction => {
            "handler -> the same with another mask or flags".to_owned()
        }
        "handler" if is_handler(before) => "handler -> another handler".to_owned(),
        now => format!("{} -> {now}", describe(before)),
    }
}

fn name(signal: c_int) -> String {
    Signal::try_from(signal)
        .map_or_else(|_| format!("signal {signal}"), |signal| signal.as_str().to_owned())
}
