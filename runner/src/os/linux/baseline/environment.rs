use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::LeftBehind;

/// The most characters of a name or a value that are shown.
const LONGEST: usize = 100;

/// Restores the environment variables.
pub fn environment() -> impl Fn(&mut LeftBehind) {
    // The order is that of the C library, which changes with the variables only.
    let present = || env::vars_os().collect::<Vec<_>>();
    let before = present();
    move |left: &mut LeftBehind| {
        let now = present();
        if now == before {
            return;
        }
        let (before, now) = (by_name(&before), by_name(&now));
        let names: BTreeSet<&OsStr> = before.keys().chain(now.keys()).copied().collect();
        for name in names {
            let (before, now) = (before.get(name).copied(), now.get(name).copied());
            if before == now {
                continue;
            }
            let is_undone = put(name, before);
            let change = match (before, now) {
                (_, None) => "removed".to_owned(),
                (None, Some(now)) => format!("set to {}", quoted(now)),
                (Some(before), Some(now)) => format!("{} -> {}", quoted(before), quoted(now)),
            };
            left.add(format!("environment variable {} {change}", shown(name)), is_undone);
        }
    }
}

/// Returns the last value of each name.
fn by_name(variables: &[(OsString, OsString)]) -> BTreeMap<&OsStr, &OsStr> {
    variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect()
}

/// Returns false for a name that the C library can neither set nor remove. `putenv("=a=1")` makes the
/// name `=a`.
fn put(name: &OsStr, value: Option<&OsStr>) -> bool {
    if name.is_empty() || name.as_bytes().contains(&b'=') {
        return false;
    }
    // SAFETY: a test has changed this variable while the same threads ran, those of the driver. A thread that reads
    // the environment now was at the same risk then.
    unsafe {
        match value {
            Some(value) => env::set_var(name, value),
            None => env::remove_var(name),
        }
    }
    true
}

fn shown(text: &OsStr) -> String {
    text.to_string_lossy().chars().take(LONGEST).collect()
}

fn quoted(text: &OsStr) -> String {
    format!("{:?}", shown(text))
}
