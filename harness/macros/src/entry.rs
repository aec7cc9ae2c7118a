//! `main!` and `command!`: the entry points of a target.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Ident, Result, Token};

/// Which front end the target gets.
pub enum Front {
    /// What `cargo test` and `cargo nextest` talk to.
    Libtest,
    /// The subcommands of the binary `clmatrix`.
    Command,
}

/// Expands to `fn main`, or to an error for each test that would be lost.
pub fn expand(input: TokenStream, front: Front, lost: Vec<String>) -> Result<TokenStream> {
    let crates = Punctuated::<Ident, Token![,]>::parse_terminated.parse2(input)?;
    // Without a reference to the crate the linker drops it, and its tests with it.
    let links = crates.iter().map(|name| quote!(use #name as _;));
    let home = match crates.first() {
        Some(name) => {
            let name = name.to_string();
            quote!(#name)
        }
        None => quote!(::core::module_path!()),
    };
    let entry = match front {
        Front::Libtest => quote!(::clmatrix_harness::front::libtest::main),
        Front::Command => quote!(::clmatrix_harness::front::command::main),
    };
    let lost = lost.iter().map(|message| quote!(::core::compile_error!(#message);));
    Ok(quote! {
        #(#lost)*
        #(#links)*

        const _: () = ::core::assert!(
            ::core::cfg!(test),
            "tests with cases exist only where `cfg(test)` is set, so this target would hold fewer \
             tests than it should: add a build script, build.rs, whose main prints the line \
             cargo::rustc-cfg=test"
        );

        fn main() -> ::std::process::ExitCode {
            #entry(::clmatrix_harness::front::Target {
                home: #home,
                package: ::core::env!("CARGO_PKG_NAME"),
                version: ::core::env!("CARGO_PKG_VERSION"),
                name: ::core::option_env!("CARGO_BIN_NAME").unwrap_or(::core::env!("CARGO_CRATE_NAME")),
            })
        }
    })
}
