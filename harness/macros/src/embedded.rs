//! The files of a configuration folder, as part of the executable.

use std::fs;
use std::io;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Expands to an `Option<EmbeddedConfig>` with the files in `folder`, a path from Cargo.toml.
///
/// `include_str!` reads them, so that cargo rebuilds the target when one of them changes.
pub fn expand(folder: &LitStr) -> Result<TokenStream> {
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let root = format!("{root}/{}", folder.value());
    let error =
        |path: &str, error| Error::new_spanned(folder, format!("{path}: cannot be read: {error}"));
    let config = format!("{root}/clmatrix.toml");
    fs::metadata(&config).map_err(|found| error(&config, found))?;
    let expectations = format!("{root}/expectations");
    let names = toml_files(&expectations).map_err(|found| error(&expectations, found))?;
    let files = names.iter().map(|name| {
        let (shown, path) = (format!("expectations/{name}"), format!("{expectations}/{name}"));
        quote!((#shown, ::core::include_str!(#path)))
    });
    Ok(quote! {
        ::core::option::Option::Some(::clmatrix_harness::config::EmbeddedConfig {
            config: ::core::include_str!(#config),
            expectations: &[#(#files),*],
        })
    })
}

/// The names of all `*.toml` in `folder`, sorted; a folder that does not exist has none.
fn toml_files(folder: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().into_string().map_err(|name| {
            io::Error::other(format!("the name {} is not UTF-8", name.display()))
        })?;
        if name.ends_with(".toml") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
