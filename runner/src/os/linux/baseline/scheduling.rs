use libc::{cpu_set_t, sched_attr};

use super::LeftBehind;
use crate::os::linux::filled;

/// Restores the policy, priority, nice value and processors of the calling thread, where the kernel tells them.
pub fn scheduling() -> impl Fn(&mut LeftBehind) {
    let kept = (attributes(), processors());
    move |left: &mut LeftBehind| {
        if let (Some(before), Some(now)) = (&kept.0, &attributes()) {
            restore_attributes(before, now, left);
        }
        if let (Some(before), Some(now)) = (&kept.1, &processors())
            && before != now
        {
            // SAFETY: the set is initialized.
            unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), before) };
            // A set that others than the test have restricted stays as it is, and is no fault of the test.
            if processors().as_ref() == Some(before) {
                // SAFETY: the sets are initialized.
                let [before, now] = [before, now].map(|set| unsafe { libc::CPU_COUNT(set) });
                left.add(format!("affinity changed: {before} -> {now} processors"), true);
            }
        }
    }
}

fn attributes() -> Option<sched_attr> {
    let size = size_of::<sched_attr>();
    // SAFETY: all zeros is a valid value, to which the kernel writes at most the given size.
    unsafe {
        filled::<sched_attr>(|to| libc::syscall(libc::SYS_sched_getattr, 0, to, size, 0) == 0)
    }
}

fn processors() -> Option<cpu_set_t> {
    // SAFETY: all zeros is a valid value, to which the kernel writes at most the given size.
    unsafe { filled(|to| libc::sched_getaffinity(0, size_of::<cpu_set_t>(), to) == 0) }
}

fn restore_attributes(before: &sched_attr, now: &sched_attr, left: &mut LeftBehind) {
    let policy = |of: &sched_attr| (of.sched_policy, of.sched_priority, of.sched_flags);
    let (is_other_policy, is_other_nice) =
        (policy(before) != policy(now), before.sched_nice != now.sched_nice);
    if !is_other_policy && !is_other_nice {
        return;
    }
    // SAFETY: the kernel has filled the attributes, and writes at most their size.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, before, 0) };
    if is_other_policy {
        let [before, now] = [before, now].map(describe);
        left.add(format!("scheduling policy {before} -> {now}"), result == 0);
    }
    if is_other_nice {
        left.add(format!("nice {} -> {}", before.sched_nice, now.sched_nice), result == 0);
    }
}

/// The policy, and the priority of policies that have one.
fn describe(attributes: &sched_attr) -> String {
    match attributes.sched_policy.cast_signed() {
        libc::SCHED_OTHER => "other".to_owned(),
        libc::SCHED_BATCH => "batch".to_owned(),
        libc::SCHED_IDLE => "idle".to_owned(),
        libc::SCHED_FIFO => format!("fifo {}", attributes.sched_priority),
        libc::SCHED_RR => format!("rr {}", attributes.sched_priority),
        policy => policy.to_string(),
    }
}
