//! Relative links in Markdown files lead to files and headings that exist.

use std::fs;
use std::path::Path;

use super::{files, root};

/// The targets of the links in a page, without those in code.
pub(crate) fn targets(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut targets = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let text = line.split('`').step_by(2);
            let links = text.flat_map(|text| text.split("](").skip(1));
            targets.extend(links.filter_map(|link| Some(link.split_once(')')?.0)));
        }
    }
    targets
}

/// The anchors of the headings in a page, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Returns whether `target`, in a page of the folder `folder` with this text, exists.
fn exists(folder: &Path, page: &str, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = folder.join(path);
    let has_anchor = |page: &str| anchor.is_empty() || anchors(page).iter().any(|a| a == anchor);
    match path {
        "" => has_anchor(page),
        _ if anchor.is_empty() => file.exists(),
        _ => fs::read_to_string(file).is_ok_and(|page| has_anchor(&page)),
    }
}

#[test]
fn relative_links_lead_to_files_and_headings() {
    let pages = files(root(), &["md"]);
    let mut links = 0;
    let mut wrong = Vec::new();
    for path in &pages {
        let page = fs::read_to_string(path).expect("pages are text");
        let folder = path.parent().expect("it is in a folder");
        for target in targets(&page).into_iter().filter(|target| !target.contains("://")) {
            links += 1;
            if !exists(folder, &page, target) {
                wrong.push(format!("{}: {target}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere:\n{}", wrong.join("\n"));
    assert!(links > 10, "{links} links in {} pages", pages.len());
}
