use std::mem::{self, size_of};

use libc::{cpu_set_t, sched_attr};

use super::LeftBehind;

/// The policy, priority, nice value and processors of the calling thread; `None` where the kernel does not tell them.
pub struct Scheduling {
    attributes: Option<sched_attr>,
    processors: Option<cpu_set_t>,
}

impl Scheduling {
    pub fn now() -> Self {
        // SAFETY: all zeros is a valid value of both, to which the kernel writes at most the given size.
        unsafe {
            let (mut attributes, mut processors): (sched_attr, cpu_set_t) = mem::zeroed();
            let size = size_of::<sched_attr>();
            let has_attributes =
                libc::syscall(libc::SYS_sched_getattr, 0, &mut attributes, size, 0) == 0;
            let has_processors =
                libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &mut processors) == 0;
            Self {
                attributes: has_attributes.then_some(attributes),
                processors: has_processors.then_some(processors),
            }
        }
    }

    pub fn restore(&self, left: &mut LeftBehind) {
        let now = Self::now();
        if let Some((before, now)) = self.attributes.as_ref().zip(now.attributes.as_ref()) {
            restore_attributes(before, now, left);
        }
        if let Some((before, now)) = self.processors.as_ref().zip(now.processors.as_ref())
            && before != now
        {
            // SAFETY: the set is initialized.
            unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), before) };
            // A set that others than the test have restricted stays as it is, and is no fault of the test.
            if Self::now().processors.as_ref() == Some(before) {
                // SAFETY: the sets are initialized.
                let [before, now] = [before, now].map(|set| unsafe { libc::CPU_COUNT(set) });
                left.add(format!("affinity changed: {before} -> {now} processors"), true);
            }
        }
    }
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
