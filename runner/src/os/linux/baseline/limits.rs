use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, rlim_t, setrlimit};

use super::LeftBehind;

const RESOURCES: [Resource; 16] = [
    Resource::RLIMIT_AS,
    Resource::RLIMIT_CORE,
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_LOCKS,
    Resource::RLIMIT_MEMLOCK,
    Resource::RLIMIT_MSGQUEUE,
    Resource::RLIMIT_NICE,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_RSS,
    Resource::RLIMIT_RTPRIO,
    Resource::RLIMIT_RTTIME,
    Resource::RLIMIT_SIGPENDING,
    Resource::RLIMIT_STACK,
];

/// The soft and the hard limit of each resource.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Limits([(rlim_t, rlim_t); RESOURCES.len()]);

impl Limits {
    pub fn now() -> Self {
        let of = |resource| getrlimit(resource).expect("the kernel knows the resource");
        Self(RESOURCES.map(of))
    }

    pub fn restore(&self, left: &mut LeftBehind) {
        let now = Self::now();
        if now == *self {
            return;
        }
        for (resource, (before, now)) in RESOURCES.into_iter().zip(self.0.into_iter().zip(now.0)) {
            if before == now {
                continue;
            }
            // A hard limit can be raised by a privileged process only.
            let is_undone = setrlimit(resource, before.0, before.1).is_ok();
            let changes = [("", before.0, now.0), (" hard limit", before.1, now.1)];
            for (which, before, now) in changes.into_iter().filter(|(_, b, n)| b != n) {
                let (before, now) = (describe(before), describe(now));
                left.add(format!("{resource:?}{which} {before} -> {now}"), is_undone);
            }
        }
    }
}

fn describe(limit: rlim_t) -> String {
    if limit == RLIM_INFINITY { "unlimited".to_owned() } else { limit.to_string() }
}
