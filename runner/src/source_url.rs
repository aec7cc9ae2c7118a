//! The addresses of sources, for links in reports.

use crate::variable;

/// Returns the address of a line of a source, with `{file}` and `{line}`, in a job of GitHub Actions or GitLab.
pub(crate) fn of_ci() -> Option<String> {
    of_variables(variable::text)
}

fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
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
            of_variables(|name| look_up(name).map(|(_, value)| (*value).to_owned()))
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
