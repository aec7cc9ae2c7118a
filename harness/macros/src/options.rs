//! The options in the parentheses of `#[clmatrix_harness::test(...)]`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::spanned::Spanned;
use syn::{LitInt, LitStr, Result};

/// The options of one test.
#[derive(Default)]
pub struct Options {
    /// True if the test runs once, without a device.
    pub once: bool,
    /// True if no other test of its device runs meanwhile.
    pub alone: bool,
    /// True if its contexts are new.
    pub fresh_context: bool,
    /// True if the test has a process of its own.
    pub own_worker: bool,
    /// The time limit of the test.
    pub timeout: Option<Duration>,
    /// One expression of type `Requirement` each.
    pub requires: Vec<TokenStream>,
}

impl Options {
    /// Parses the tokens between the parentheses.
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
            let limit = duration(&text(meta, DURATION)?)?;
            match self.timeout.replace(limit) {
                None => Ok(()),
                Some(_) => Err(meta.error("`timeout` is given twice")),
            }
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
    let requirement = quote!(::clmatrix_harness::__private::Requirement);
    Ok(match name.as_str() {
        "fp64" => quote!(#requirement::Fp64),
        "fp16" => quote!(#requirement::Fp16),
        "images" => quote!(#requirement::Images),
        "pipes" => quote!(#requirement::Pipes),
        "svm" => {
            let level = svm_level(meta)?;
            quote!(#requirement::Svm(::clmatrix_harness::__private::SvmLevel::#level))
        }
        "opencl" => {
            let (major, minor) = version(&text(meta, VERSION)?)?;
            quote!(#requirement::OpenCl(::clmatrix_harness::__private::Version { major: #major, minor: #minor }))
        }
        "extension" => {
            let extension = text(meta, "expected a name such as \"cl_khr_fp64\"")?;
            quote!(#requirement::Extension(#extension))
        }
        "global_mem" => {
            let bytes = bytes(&text(meta, SIZE)?)?;
            quote!(#requirement::GlobalMem(#bytes))
        }
        "max_alloc" => {
            let bytes = bytes(&text(meta, SIZE)?)?;
            quote!(#requirement::MaxAlloc(#bytes))
        }
        "local_mem" => {
            let bytes = bytes(&text(meta, SIZE)?)?;
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

const DURATION: &str = "expected a duration such as \"30s\" or \"2m\"";
const LEVEL: &str = "the levels are \"coarse\", \"fine\", \"system\" and \"atomics\"";
const SIZE: &str =
    "expected a size such as \"4096\", \"32 KiB\" or \"1 GiB\"; the units are B, KiB, MiB and GiB";
const VERSION: &str = "expected an OpenCL version such as \"1.2\"";

/// Returns the text behind the equals sign of an option. `expected` is the message for another value, or none.
fn text(meta: &ParseNestedMeta, expected: &str) -> Result<LitStr> {
    let value = meta.value().map_err(|_| syn::Error::new(meta.path.span(), expected))?;
    let span = value.span();
    value.parse().map_err(|_| syn::Error::new(span, expected))
}

fn svm_level(meta: &ParseNestedMeta) -> Result<syn::Ident> {
    if !meta.input.peek(syn::Token![=]) {
        return Ok(syn::Ident::new("Coarse", proc_macro2::Span::call_site()));
    }
    let level = text(meta, LEVEL)?;
    let variant = match level.value().as_str() {
        "coarse" => "Coarse",
        "fine" => "Fine",
        "system" => "System",
        "atomics" => "Atomics",
        _ => return Err(syn::Error::new(level.span(), LEVEL)),
    };
    Ok(syn::Ident::new(variant, level.span()))
}

fn duration(text: &LitStr) -> Result<Duration> {
    let invalid = |reason: String| syn::Error::new(text.span(), format!("{DURATION}: {reason}"));
    let limit =
        humantime::parse_duration(&text.value()).map_err(|error| invalid(error.to_string()))?;
    if limit.is_zero() { Err(invalid("it is zero".to_owned())) } else { Ok(limit) }
}

fn version(text: &LitStr) -> Result<(u32, u32)> {
    text.value()
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or_else(|| syn::Error::new(text.span(), VERSION))
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
        .ok_or_else(|| syn::Error::new(text.span(), SIZE))
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
    fn a_value_of_another_kind_is_met_by_an_example() {
        for (text, said) in [
            ("timeout", "such as \"30s\""),
            ("timeout = 30", "such as \"30s\""),
            ("requires(opencl = 1.2)", "such as \"1.2\""),
            ("requires(svm = 2)", "\"fine\""),
            ("requires(extension = cl_khr_fp64)", "such as \"cl_khr_fp64\""),
            ("timeout = \"1s\", timeout = \"2s\"", "given twice"),
        ] {
            let error = requirements(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
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
