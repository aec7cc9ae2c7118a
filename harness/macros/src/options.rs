//! The options in the parentheses of `#[clmatrix_harness::test(...)]`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{LitInt, LitStr, Result};

/// The options of one test.
#[derive(Default)]
pub struct Options {
    /// Runs once, without a device.
    pub once: bool,
    /// Runs while no other test of its device runs.
    pub alone: bool,
    /// Gets contexts that no other test has had.
    pub fresh_context: bool,
    /// Runs in a process of its own.
    pub own_worker: bool,
    /// A limit of its own.
    pub timeout: Option<Duration>,
    /// One expression of type `Requirement` each.
    pub requires: Vec<TokenStream>,
}

impl Options {
    /// Reads the tokens between the parentheses.
    pub fn parse(tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        syn::meta::parser(|meta| options.take(&meta)).parse2(tokens)?;
        Ok(options)
    }

    fn take(&mut self, meta: &ParseNestedMeta) -> Result<()> {
        if meta.path.is_ident("once") {
            self.once = true;
            Ok(())
        } else if meta.path.is_ident("alone") {
            self.alone = true;
            Ok(())
        } else if meta.path.is_ident("fresh_context") {
            self.fresh_context = true;
            Ok(())
        } else if meta.path.is_ident("own_worker") {
            self.own_worker = true;
            Ok(())
        } else if meta.path.is_ident("timeout") {
            self.timeout = Some(duration(&meta.value()?.parse()?)?);
            Ok(())
        } else if meta.path.is_ident("requires") {
            meta.parse_nested_meta(|inner| {
                self.requires.push(requirement(&inner)?);
                Ok(())
            })
        } else {
            Err(meta.error(
                "unknown option; there are `requires(...)`, `timeout = \"30s\"`, `once`, `alone`, \
                 `fresh_context` and `own_worker`",
            ))
        }
    }
}

fn requirement(meta: &ParseNestedMeta) -> Result<TokenStream> {
    let name = meta.path.require_ident()?.to_string();
    let requirement = quote!(::clmatrix_harness::private::requirement::Requirement);
    Ok(match name.as_str() {
        "fp64" => quote!(#requirement::Fp64),
        "fp16" => quote!(#requirement::Fp16),
        "images" => quote!(#requirement::Images),
        "pipes" => quote!(#requirement::Pipes),
        "svm" => {
            let level = svm_level(meta)?;
            quote!(#requirement::Svm(::clmatrix_harness::private::requirement::SvmLevel::#level))
        }
        "opencl" => {
            let (major, minor) = version(&meta.value()?.parse()?)?;
            quote!(#requirement::OpenCl(::clmatrix_harness::private::requirement::Version { major: #major, minor: #minor }))
        }
        "extension" => {
            let extension: LitStr = meta.value()?.parse()?;
            quote!(#requirement::Extension(#extension))
        }
        "global_mem" => {
            let bytes = bytes(&meta.value()?.parse()?)?;
            quote!(#requirement::GlobalMem(#bytes))
        }
        "max_alloc" => {
            let bytes = bytes(&meta.value()?.parse()?)?;
            quote!(#requirement::MaxAlloc(#bytes))
        }
        "local_mem" => {
            let bytes = bytes(&meta.value()?.parse()?)?;
            quote!(#requirement::LocalMem(#bytes))
        }
        "subgroup" if meta.input.peek(syn::Token![=]) => {
            let size = sub_group_size(&meta.value()?.parse()?)?;
            quote!(#requirement::SubGroup(#size))
        }
        "subgroup" => quote!(#requirement::SubGroups),
        _ => {
            return Err(meta.error(
                "unknown requirement; there are fp64, fp16, images, pipes, svm, opencl, extension, \
                 global_mem, max_alloc, local_mem and subgroup",
            ));
        }
    })
}

fn svm_level(meta: &ParseNestedMeta) -> Result<syn::Ident> {
    let level: LitStr = if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse()?
    } else {
        return Ok(syn::Ident::new("Coarse", proc_macro2::Span::call_site()));
    };
    let variant = match level.value().as_str() {
        "coarse" => "Coarse",
        "fine" => "Fine",
        "system" => "System",
        "atomics" => "Atomics",
        _ => {
            return Err(syn::Error::new(
                level.span(),
                "the levels are \"coarse\", \"fine\", \"system\" and \"atomics\"",
            ));
        }
    };
    Ok(syn::Ident::new(variant, level.span()))
}

fn duration(text: &LitStr) -> Result<Duration> {
    let invalid = |reason: String| {
        let expected = "expected a duration such as \"30s\" or \"2m\"";
        syn::Error::new(text.span(), format!("{expected}: {reason}"))
    };
    let limit =
        humantime::parse_duration(&text.value()).map_err(|error| invalid(error.to_string()))?;
    if limit.is_zero() { Err(invalid("it is zero".to_owned())) } else { Ok(limit) }
}

fn version(text: &LitStr) -> Result<(u32, u32)> {
    text.value()
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| syn::Error::new(text.span(), "expected an OpenCL version such as \"1.2\""))
}

fn sub_group_size(number: &LitInt) -> Result<u64> {
    number
        .base10_parse()
        .ok()
        .filter(|size| *size > 0)
        .ok_or_else(|| syn::Error::new(number.span(), "expected a number of work items such as 32"))
}

fn bytes(text: &LitStr) -> Result<u64> {
    let value = text.value();
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match value[digits.len()..].trim() {
        "" | "B" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    shift
        .zip(digits.parse::<u64>().ok())
        .and_then(|(shift, number)| number.checked_mul(1 << shift))
        .ok_or_else(|| {
            syn::Error::new(
                text.span(),
                "expected a size such as \"4096\", \"32 KiB\" or \"1 GiB\"; the units are B, KiB, MiB and GiB",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirements(text: &str) -> Result<Vec<String>> {
        let options = Options::parse(text.parse().expect("tokens"))?;
        let last = |tokens: &TokenStream| {
            let text = tokens.to_string().replace(' ', "");
            text.rsplit_once("Requirement::").expect("a requirement").1.to_owned()
        };
        Ok(options.requires.iter().map(last).collect())
    }

    #[test]
    fn requirements_are_read() {
        for (text, expected) in [
            ("requires(fp64, images)", &["Fp64", "Images"][..]),
            ("requires(subgroup)", &["SubGroups"]),
            ("requires(subgroup = 32)", &["SubGroup(32u64)"]),
            (
                "requires(local_mem = \"32 KiB\", subgroup = 16)",
                &["LocalMem(32768u64)", "SubGroup(16u64)"],
            ),
            ("requires(subgroup, fp16)", &["SubGroups", "Fp16"]),
        ] {
            assert_eq!(requirements(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_requirement_is_said() {
        for (text, said) in [
            ("requires(subgroup = 0)", "a number of work items such as 32"),
            ("requires(subgroup = \"32\")", "expected integer literal"),
            ("requires(subgroup = -1)", "a number of work items such as 32"),
            ("requires(local_mem = \"32 kB\")", "such as \"4096\", \"32 KiB\""),
            ("requires(subgroups)", "local_mem and subgroup"),
        ] {
            let error = requirements(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
