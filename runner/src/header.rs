//! The description of a run by its machine, its configuration and its executable.

use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::devices::icd::driver_variables;
use crate::log::{FORMAT, RunHeader};
use crate::run::state::Run;
use crate::setup::Setup;
use crate::target::Target;
use crate::{os, system, variable};

/// Describes a run that begins now, for the first line of its log. `rerun_command` reruns one test, whose id is
/// appended; `filter` are the arguments that select a part of the tests.
pub fn run_header(
    target: &Target,
    setup: &Setup,
    run: &Run<'_>,
    rerun_command: String,
    filter: Vec<String>,
) -> RunHeader {
    let own = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let versions = [own, (target.package, target.version)];
    let owned = |(name, version): (&str, &str)| (name.to_owned(), version.to_owned());
    let mut versions = versions.map(owned).to_vec();
    versions.dedup();
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let variables = driver_variables().into_iter();
    RunHeader {
        format: FORMAT,
        run_id: new_run_id(),
        time: SystemTime::now(),
        host: system::host(),
        versions,
        package: None,
        target: target.name.to_owned(),
        command_line: command_line(),
        rerun_command,
        devices: Vec::new(),
        profile: Some(setup.profile_name.clone()),
        configuration: setup.config.file().map(|file| file.display().to_string()),
        added_drivers: Vec::new(),
        host_settings: Some(run.host.settings.clone()),
        junit: setup.profile.junit,
        source_url: setup.profile.source_url.clone().or_else(|| source_url_of_ci(variable::text)),
        environment: variables.map(|(name, value)| (text(name), text(value))).collect(),
        boot_id: system::boot_id(),
        kernel: os::kernel(),
        cpu: os::cpu(),
        cpus: system::cpus(),
        memory: os::memory(),
        build_id: std::env::current_exe().ok().and_then(|exe| system::build_id(&exe)),
        programs: run.plan.programs(),
        filter,
        selected_tests: None,
        include_ignored: run.include_ignored,
        run_skipped: run.run_skipped,
        seed: run.seed,
        shard: None,
        parent: None,
        merged: Vec::new(),
    }
}

/// Returns the id of a run that begins now.
pub fn new_run_id() -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", since_epoch.as_millis(), std::process::id())
}

/// Returns the command line of this process, word by word.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the address of a line of a source, with `{file}` and `{line}`, in a job of GitHub Actions or GitLab.
fn source_url_of_ci(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let github = || {
        let [server, repository, commit] =
            ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA"].map(&variable);
        Some(format!("{}/{}/blob/{}", server?, repository?, commit?))
    };
    let gitlab = || {
        let [project, commit] = ["CI_PROJECT_URL", "CI_COMMIT_SHA"].map(&variable);
        Some(format!("{}/-/blob/{}", project?, commit?))
    };
    github().or_else(gitlab).map(|tree| tree + "/{file}#L{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_know_the_addresses_of_their_sources() {
        let known = |variables: &[(&str, &str)]| {
            let look_up = |name: &str| variables.iter().find(|(known, _)| *known == name);
            source_url_of_ci(|name| look_up(name).map(|(_, value)| (*value).to_owned()))
        };
        let github = [
            ("GITHUB_SERVER_URL", "https://g"),
            ("GITHUB_REPOSITORY", "a/b"),
            ("GITHUB_SHA", "1f"),
        ];
        assert_eq!(known(&github).as_deref(), Some("https://g/a/b/blob/1f/{file}#L{line}"));
        let gitlab = [("CI_PROJECT_URL", "https://l/a/b"), ("CI_COMMIT_SHA", "1f")];
        assert_eq!(known(&gitlab).as_deref(), Some("https://l/a/b/-/blob/1f/{file}#L{line}"));
        assert_eq!(known(&github[..2]), None);
    }
}
