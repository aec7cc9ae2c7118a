//! Finds the tests that a target with `harness = false` would lose.
//!
//! There the compiler drops every plain `#[test]` without a word, and so the functions that
//! rstest marks with it. The sources of the target are read from the file that calls `main!`,
//! following its `mod` declarations. A proc macro sees no more than that: tests of other crates and
//! of included files are not looked at, and `cfg`s are not evaluated.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::Visit;
use syn::{Attribute, ItemFn, ItemMod, ItemUse, Macro, Meta, Token, UseTree};

/// A message for each lost test of the target whose root calls `main!`.
pub fn in_file_of_call_site() -> Vec<String> {
    // Absent when the call itself comes out of a macro; then nothing is known.
    let Some(root) = proc_macro::Span::call_site().local_file() else {
        return Vec::new();
    };
    let folder = root.parent().map(Path::to_path_buf).unwrap_or_default();
    Search::read(root, folder, false)
}

/// One file being read.
struct Search {
    file: PathBuf,
    /// Where the files of its `mod` declarations lie.
    folder: PathBuf,
    text: String,
    /// True if `test` has been imported from the harness into this module, so that a bare `#[test]`
    /// is ours.
    ours: bool,
    messages: Vec<String>,
}

impl Search {
    /// The messages for `file`, whose `mod` declarations mean files in `folder`; `ours_above` is
    /// [`ours`](Self::ours) of the module around it.
    fn read(file: PathBuf, folder: PathBuf, ours_above: bool) -> Vec<String> {
        // The compiler reports files that cannot be read or parsed.
        let Ok(text) = std::fs::read_to_string(&file) else { return Vec::new() };
        Self::of_text(text, file, folder, ours_above)
    }

    fn of_text(text: String, file: PathBuf, folder: PathBuf, ours_above: bool) -> Vec<String> {
        let Ok(syntax) = syn::parse_file(&text) else { return Vec::new() };
        let ours = imports_our_test(&syntax.items, ours_above);
        let mut search = Self { file, folder, text, ours, messages: Vec::new() };
        search.visit_file(&syntax);
        search.messages
    }

    fn follow(&mut self, module: &ItemMod) {
        let name = module.ident.to_string();
        let candidates = match path_attribute(&module.attrs) {
            Some(path) => vec![self.file.with_file_name(path)],
            None => {
                vec![self.folder.join(format!("{name}.rs")), self.folder.join(&name).join("mod.rs")]
            }
        };
        let Some(file) = candidates.into_iter().find(|file| file.is_file()) else { return };
        let folder = if file.file_name().is_some_and(|f| f == "mod.rs") {
            file.parent().map(Path::to_path_buf).unwrap_or_default()
        } else {
            file.with_extension("")
        };
        self.messages.extend(Self::read(file, folder, self.ours));
    }

    /// Returns the attribute that makes a function a test which never runs.
    fn losing_attribute(&self, attributes: &[Attribute]) -> Option<&'static str> {
        let mut lost = None;
        for Attribute { meta, .. } in attributes {
            if self.is_ours(meta) {
                return None;
            }
            if is_called(meta.path(), "test") {
                // The compiler drops the function before it sees the attributes below.
                return Some("`#[test]`");
            }
            // These hand the attributes below to each case.
            lost = lost
                .or_else(|| is_called(meta.path(), "rstest").then_some("`#[rstest]`"))
                .or_else(|| applies_template(meta).then_some("`#[apply]`"));
        }
        lost
    }

    /// Returns whether an attribute is the harness's `test`, or names it as the attribute to use.
    fn is_ours(&self, attribute: &Meta) -> bool {
        let path = attribute.path();
        if path.is_ident("cfg") {
            return false;
        }
        let is_test = match test_attribute(path) {
            Some(TestAttribute::Bare) => self.ours,
            Some(TestAttribute::Path) => true,
            Some(TestAttribute::Foreign) | None => false,
        };
        let condition = usize::from(path.is_ident("cfg_attr"));
        let names_others = condition == 1 || is_called(path, "test");
        is_test
            || names_others
                && arguments(attribute).iter().skip(condition).any(|inner| self.is_ours(inner))
    }

    fn lost(&mut self, what: &str, name: &str) {
        // Spans would say where `main!` is called: the compiler has not read this text itself.
        let function = format!("fn {name}");
        let line =
            self.text.lines().position(|line| line.contains(&function)).map_or(0, |at| at + 1);
        self.messages.push(format!(
            "{}:{line}: {what} `{name}` would never run: this target has `harness = false`, where \
             the compiler drops it. Mark it `#[clmatrix_harness::test]` (with `once` if it needs \
             no device), in place of `#[test]`, beside `#[rstest]` or `#[apply]`, or as \
             `#[test_log::test(clmatrix_harness::test)]`",
            self.file.display(),
        ));
    }
}

impl<'ast> Visit<'ast> for Search {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        let has_cases_alone = function.attrs.iter().any(|a| is_called(a.path(), "template"));
        if !has_cases_alone && let Some(what) = self.losing_attribute(&function.attrs) {
            self.lost(what, &function.sig.ident.to_string());
        }
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.content.is_none() {
            self.follow(module);
        } else {
            let (folder, ours) = (self.folder.clone(), self.ours);
            self.folder.push(module.ident.to_string());
            let items = module.content.iter().flat_map(|(_, items)| items);
            self.ours = imports_our_test(items, ours);
            syn::visit::visit_item_mod(self, module);
            (self.folder, self.ours) = (folder, ours);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let is_definition = call.path.is_ident("macro_rules");
        if !is_definition && !self.ours {
            for name in bare_tests_in(call.tokens.clone()) {
                self.lost("`#[test]`", &name);
            }
        }
    }
}

/// An attribute whose path ends in `test`.
enum TestAttribute {
    /// `#[test]`: whose it is depends on what is imported.
    Bare,
    /// The end of a path that may lead to the harness, under any name.
    Path,
    /// The end of a path that leads elsewhere.
    Foreign,
}

fn test_attribute(path: &syn::Path) -> Option<TestAttribute> {
    const FOREIGN: [&str; 6] = ["core", "std", "tokio", "async_std", "test_log", "smol_potat"];
    if !is_called(path, "test") {
        return None;
    }
    Some(match path.segments.first() {
        _ if path.segments.len() == 1 => TestAttribute::Bare,
        Some(first) if FOREIGN.iter().any(|name| first.ident == name) => TestAttribute::Foreign,
        _ => TestAttribute::Path,
    })
}

/// Returns whether the last part of a path is `name`.
fn is_called(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|last| last.ident == name)
}

/// The attributes in the parentheses of another one, such as `#[test_log::test(clmatrix_harness::test)]`.
fn arguments(attribute: &Meta) -> Vec<Meta> {
    let Meta::List(list) = attribute else { return Vec::new() };
    let arguments = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    arguments.map_or_else(|_| Vec::new(), Vec::from_iter)
}

/// Returns whether this is rstest_reuse's `apply`. The one of macro_rules_attribute names a macro, with a `!`.
fn applies_template(attribute: &Meta) -> bool {
    is_called(attribute.path(), "apply") && !arguments(attribute).is_empty()
}

/// Returns whether one of these items of a module imports the harness's `test`, or takes it over from the
/// module above.
fn imports_our_test<'a>(items: impl IntoIterator<Item = &'a syn::Item>, above: bool) -> bool {
    items.into_iter().any(|item| match item {
        syn::Item::Use(ItemUse { tree: UseTree::Path(path), .. }) => {
            (path.ident == "clmatrix_harness" && brings_test(&path.tree))
                || (above && path.ident == "super" && brings_test(&path.tree))
        }
        syn::Item::ExternCrate(krate) => {
            krate.ident == "clmatrix_harness"
                && krate.attrs.iter().any(|a| a.path().is_ident("macro_use"))
        }
        _ => false,
    })
}

fn brings_test(tree: &UseTree) -> bool {
    match tree {
        UseTree::Path(path) => brings_test(&path.tree),
        UseTree::Name(name) => name.ident == "test",
        UseTree::Rename(rename) => rename.rename == "test",
        UseTree::Group(group) => group.items.iter().any(brings_test),
        UseTree::Glob(_) => true,
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|a| a.path().is_ident("path")).and_then(|attribute| {
        match &attribute.meta.require_name_value().ok()?.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        }
    })
}

/// The functions after `#[test]` in the arguments of a macro such as `proptest!`.
fn bare_tests_in(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let is_attribute =
            at > 0 && matches!(&tokens[at - 1], TokenTree::Punct(p) if p.as_char() == '#');
        if is_attribute && group.stream().to_string() == "test" {
            let name = tokens[at..]
                .windows(2)
                .find(|pair| matches!(&pair[0], TokenTree::Ident(i) if i == "fn"))
                .map_or_else(|| "?".to_owned(), |pair| pair[1].to_string());
            found.push(name);
        } else {
            found.extend(bare_tests_in(group.stream()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lost tests of a file with this import.
    fn lost(import: &str, functions: &str) -> Vec<String> {
        let text = format!("{import}\n{functions}");
        let found = Search::of_text(text, PathBuf::from("t.rs"), PathBuf::new(), false);
        let what = |message: &String| message.split(" would never run").next().map(str::to_owned);
        found.iter().filter_map(what).collect()
    }

    #[test]
    fn an_attribute_that_leads_to_the_harness_keeps_a_test() {
        let ours = "use clmatrix_harness::test;";
        for (import, attributes, expected) in [
            ("", "#[test]", "`#[test]`"),
            (ours, "#[test]", ""),
            ("", "#[clmatrix_harness::test(once)]", ""),
            ("", "#[test] #[clmatrix_harness::test]", "`#[test]`"),
            ("", "#[test_log::test]", "`#[test]`"),
            ("", "#[test_log::test] #[clmatrix_harness::test]", "`#[test]`"),
            ("", "#[test_log::test(clmatrix_harness::test)]", ""),
            ("", "#[test_log::test(clmatrix_harness::test(once, timeout = \"1s\"))]", ""),
            (ours, "#[test_log::test(test)]", ""),
            ("", "#[test_log::test(tokio::test)]", "`#[test]`"),
            ("", "#[cfg_attr(feature = \"a\", clmatrix_harness::test)]", ""),
            ("", "#[rstest]", "`#[rstest]`"),
            (ours, "#[cfg(test)] #[cfg_attr(test, inline)] #[rstest]", "`#[rstest]`"),
            ("", "#[rstest] #[case(1)] #[clmatrix_harness::test]", ""),
            ("", "#[template] #[rstest] #[case(1)]", ""),
            ("", "#[rstest_reuse::template] #[rstest] #[case(1)]", ""),
            ("", "#[apply(cases)]", "`#[apply]`"),
            ("", "#[apply(cases)] #[clmatrix_harness::test]", ""),
        ] {
            let found = lost(import, &format!("{attributes} fn t() {{}}"));
            let expected: &[String] = match expected {
                "" => &[],
                what => &[format!("t.rs:2: {what} `t`")],
            };
            assert_eq!(found, expected, "{import} {attributes}");
        }
    }
}
