//! `main!` and `command!`: the entry points of a target.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Result, Token};

use crate::embedded;

/// The front end of a target.
pub enum Front {
    /// The entry point for `cargo test` and `cargo nextest`.
    Libtest,
    /// The subcommands of the binary `clmatrix`.
    Command,
}

/// The words in the parentheses: `my_suites, config = "config"`.
struct Arguments {
    crates: Vec<Ident>,
    config: Option<LitStr>,
}

const EXPECTED: &str = "expected the name of a crate, or once `config = \"FOLDER\"`";

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let (mut crates, mut config) = (Vec::new(), None);
        while !input.is_empty() {
            let name: Ident =
                input.parse().map_err(|error| syn::Error::new(error.span(), EXPECTED))?;
            if input.parse::<Option<Token![=]>>()?.is_none() {
                crates.push(name);
            } else if name == "config" && config.is_none() {
                config = Some(input.parse()?);
            } else {
                return Err(syn::Error::new_spanned(name, EXPECTED));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(Self { crates, config })
    }
}

/// Expands to `fn main`, with an error for each test that would be lost.
pub fn expand(input: TokenStream, front: Front, lost: Vec<String>) -> TokenStream {
    try_expand(input, front, lost).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // Without it the compiler reports that `main` is missing, too.
        quote!(#error fn main() {})
    })
}

fn try_expand(input: TokenStream, front: Front, lost: Vec<String>) -> Result<TokenStream> {
    let Arguments { crates, config } = syn::parse2(input)?;
    // Without a reference to the crate the linker drops it, and its tests with it.
    let links = crates.iter().map(|name| quote!(use #name as _;));
    let home = match crates.first() {
        Some(name) => {
            let name = name.to_string();
            quote!(#name)
        }
        None => quote!(::core::module_path!()),
    };
    let (library, entry, needs_no_libtest) = match front {
        Front::Libtest => {
            let library = quote!(::clmatrix_harness);
            (library.clone(), quote!(#library::__private::main), Some(needs_no_libtest()))
        }
        Front::Command => (quote!(::clmatrix_cli), quote!(::clmatrix_cli::main), None),
    };
    let config = match config {
        Some(folder) => embedded::expand(&folder, &library)?,
        None => quote!(::core::option::Option::None),
    };
    let lost = lost.iter().map(|message| quote!(::core::compile_error!(#message);));
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let cases = may_hold_tests(&crates, &package).then(|| {
        quote! {
            const _: () = ::core::assert!(
                ::core::cfg!(test),
                "tests with cases exist only where `cfg(test)` is set, so this target would hold fewer \
                 tests than it should: add a build script, build.rs, whose main prints the line \
                 cargo::rustc-cfg=test"
            );
        }
    });
    Ok(quote! {
        #[cfg(panic = "abort")]
        ::core::compile_error!(
            "the target's profile has panic = \"abort\", with which `skip!` and #[should_panic] end the worker: build \
             it with a profile of its own, [profile.matrix] with inherits = \"release\" and panic = \"unwind\", by \
             cargo build --profile matrix"
        );
        #(#lost)*
        #(#links)*
        #cases
        #needs_no_libtest

        fn main() -> ::std::process::ExitCode {
            #entry(#library::__private::Target {
                home: #home,
                package: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                name: ::core::option_env!("CARGO_BIN_NAME").unwrap_or(::core::env!("CARGO_CRATE_NAME")),
                config: #config,
            })
        }
    })
}

/// Expands to an error if libtest's `main` takes the place of the target's. Then the compiler keeps a `#[test]`.
fn needs_no_libtest() -> TokenStream {
    quote! {
        #[::core::prelude::v1::test]
        fn main_needs_a_target_without_libtest() {
            // Not `compile_error!`, which rust-analyzer reports in all targets.
            const _: () = ::core::panic!(
                "`main!` has no effect beside libtest's `main`, with which a test covers all devices at once: add \
                 `harness = false` to this target in Cargo.toml, below `[[test]]` and its name, or remove `main!`"
            );
        }
    }
}

/// Returns whether a package may hold tests itself: its target names no crate, or the library of the package.
/// Crates of other packages have build scripts of their own.
fn may_hold_tests(crates: &[Ident], package: &str) -> bool {
    crates.is_empty() || crates.iter().any(|name| *name == package.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_names_only_crates_of_others_holds_no_tests() {
        let cases: [(&[&str], _); 4] =
            [(&[], true), (&["a_b"], true), (&["c", "a_b"], true), (&["c"], false)];
        for (crates, expected) in cases {
            let idents: Vec<Ident> =
                crates.iter().map(|name| syn::parse_str(name).unwrap()).collect();
            assert_eq!(may_hold_tests(&idents, "a-b"), expected, "{crates:?}");
        }
    }

    /// Returns the crates and the folder in the parentheses.
    fn parsed(input: &str) -> Result<(Vec<String>, Option<String>)> {
        let Arguments { crates, config } = syn::parse_str(input)?;
        let crates = crates.iter().map(Ident::to_string).collect();
        Ok((crates, config.map(|folder| folder.value())))
    }

    #[test]
    fn crates_and_a_folder() {
        let cases: [(_, &[&str], _); 5] = [
            ("", &[], None),
            ("a", &["a"], None),
            ("a, b,", &["a", "b"], None),
            ("config = \"c\"", &[], Some("c")),
            ("a, b, config = \"c\",", &["a", "b"], Some("c")),
        ];
        for (input, crates, config) in cases {
            let expected =
                (crates.iter().map(|&name| name.to_owned()).collect(), config.map(str::to_owned));
            assert_eq!(parsed(input).unwrap(), expected, "{input}");
        }
    }

    #[test]
    fn other_options_are_errors() {
        for input in ["confg = \"c\"", "config = \"c\", config = \"d\"", "\"a\""] {
            let message = parsed(input).unwrap_err().to_string();
            assert!(message.contains("`config = \"FOLDER\"`"), "{input}: {message}");
        }
    }

    #[test]
    fn an_error_is_not_followed_by_one_for_a_missing_main() {
        let expanded = expand(quote!(confg = "c"), Front::Libtest, Vec::new()).to_string();
        assert!(expanded.contains("compile_error") && expanded.contains("fn main"), "{expanded}");
    }
}
