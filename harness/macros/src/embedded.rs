//! The files of a configuration folder, as part of the executable.

use std::fs;
use std::io;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

/// Expands to an `Option<EmbeddedConfig>` with the files in `folder`, a path from Cargo.toml.
///
/// `library` is the path of the crate that has the type. `include_str!` reads the files, so cargo rebuilds the target
/// when one of them changes.
pub fn expand(folder: &LitStr, library: &TokenStream) -> Result<TokenStream> {
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
        ::core::option::Option::Some(#library::__private::EmbeddedConfig {
            config: ::core::include_str!(#config),
            expectations: &[#(#files),*],
        })
    })
}

/// Returns the names of all `*.toml` in `folder`, sorted; a folder that does not exist has none.
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

#[cfg(test)]
mod tests {
    use proc_macro2::Span;

    use super::*;

    fn expanded(folder: &str) -> Result<String> {
        expand(&LitStr::new(folder, Span::call_site()), &quote!(::clmatrix_harness))
            .map(|tokens| tokens.to_string())
    }

    #[test]
    fn the_files_are_included_in_the_order_of_their_names() {
        let tokens = expanded("../examples/downstream/config").unwrap();
        let included: Vec<&str> = tokens.split('"').filter(|text| text.contains(".toml")).collect();
        let root = format!("{}/../examples/downstream/config", env!("CARGO_MANIFEST_DIR"));
        let file = format!("{root}/expectations/all.toml");
        let config = format!("{root}/clmatrix.toml");
        assert_eq!(included, [&*config, "expectations/all.toml", &*file]);

        let tokens = expanded("../../config").unwrap();
        let names: Vec<&str> =
            tokens.split('"').filter(|text| text.starts_with("expectations/")).collect();
        assert!(names.len() > 1 && names.is_sorted(), "{names:?}");
    }

    #[test]
    fn a_folder_without_a_configuration_is_an_error() {
        let message = expanded("src").unwrap_err().to_string();
        assert!(message.contains("/src/clmatrix.toml: cannot be read: No such file"), "{message}");
    }
}
