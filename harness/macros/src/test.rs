//! `#[clmatrix_harness::test]`: from a function to an entry in the registry.
//!
//! rstest calls this macro once per case, with a function that takes no arguments. A function without rstest keeps
//! its arguments, which are bound by type.
//!
//! The entry is made with `inventory`, which works in any target. An ordinary `#[test]` of the same name is added: in
//! a target with `harness = true` libtest runs it, and it runs the entry on all devices; with `harness = false` the
//! compiler drops it.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, FnArg, ItemFn, Lit, Meta, Result, ReturnType, parse_quote};

use crate::options::Options;

/// Expands the attribute on `item`.
pub fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item)?;
    if let Some(position) = function.attrs.iter().position(is_rstest) {
        let rstest = function.attrs.remove(position);
        return Ok(hand_over_to_rstest(&rstest, &options, &function));
    }
    let parsed = Options::parse(options)?;
    refuse_what_cannot_be_called(&function)?;
    if parsed.once && (parsed.fresh_context || !parsed.requires.is_empty()) {
        return Err(syn::Error::new_spanned(
            &function.sig.ident,
            "`once` runs without a device, so it cannot have `requires` or `fresh_context`",
        ));
    }
    register(&parsed, function)
}

fn is_rstest(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "rstest")
}

/// With this attribute above `#[rstest]`, rstest has to go first: it makes the cases.
fn hand_over_to_rstest(
    rstest: &Attribute,
    options: &TokenStream,
    function: &ItemFn,
) -> TokenStream {
    quote! {
        #rstest
        #[::clmatrix_harness::test(#options)]
        #function
    }
}

fn register(options: &Options, mut function: ItemFn) -> Result<TokenStream> {
    let ignore = take_attribute(&mut function, "ignore");
    let should_panic = take_attribute(&mut function, "should_panic");
    let kept: Vec<Attribute> = function
        .attrs
        .iter()
        .filter(|a| a.path().is_ident("cfg") || a.path().is_ident("allow"))
        .cloned()
        .collect();

    let name = function.sig.ident.clone();
    // The stacks of fixtures name the test by this.
    let run = quote::format_ident!("__clmatrix_run_{}", name);
    // With its `r#`, as in libtest's names.
    let test_name = name.to_string();
    let call = call(&function)?;
    // An error about the type of the result stands at this type.
    let output = match &function.sig.output {
        ReturnType::Default => Span::call_site(),
        ReturnType::Type(_, output) => output.span().resolved_at(Span::call_site()),
    };
    let converted = quote_spanned! {output=>
        ::clmatrix_harness::__private::IntoTestReturn::into_test_return(returned)
    };
    let ignore_value = ignore_value(ignore.as_ref());
    let should_panic = should_panic_value(should_panic.as_ref())?;
    let Options { once, alone, fresh_context, own_worker, .. } = options;
    let requires = &options.requires;
    let timeout = match options.timeout {
        None => quote!(::core::option::Option::None),
        Some(limit) => {
            let (seconds, nanos) = (limit.as_secs(), limit.subsec_nanos());
            quote!(::core::option::Option::Some(::core::time::Duration::new(#seconds, #nanos)))
        }
    };

    Ok(quote! {
        #(#kept)*
        const _: () = {
            #function

            fn #run() -> ::clmatrix_harness::__private::TestReturn {
                let returned = #call;
                #converted
            }

            ::clmatrix_harness::__private::inventory::submit! {
                ::clmatrix_harness::__private::Test {
                    module: ::core::module_path!(),
                    name: #test_name,
                    file: ::core::file!(),
                    line: ::core::line!(),
                    run: #run,
                    ignore: #ignore_value,
                    should_panic: #should_panic,
                    once: #once,
                    alone: #alone,
                    fresh_context: #fresh_context,
                    own_worker: #own_worker,
                    requires: &[#(#requires),*],
                    timeout: #timeout,
                }
            }
        };

        #(#kept)*
        #[::core::prelude::v1::test]
        #ignore
        fn #name() {
            ::clmatrix_harness::__private::std_main::run(::core::module_path!(), #test_name)
        }
    })
}

fn refuse_what_cannot_be_called(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    let generics = &signature.generics;
    if let Some(unsafety) = &signature.unsafety {
        Err(syn::Error::new_spanned(
            unsafety,
            "a test is called by safe code, so it cannot be unsafe",
        ))
    } else if generics.type_params().next().is_some() || generics.const_params().next().is_some() {
        Err(syn::Error::new_spanned(generics, "a test cannot have generic parameters"))
    } else {
        Ok(())
    }
}

/// Returns the expression that calls the function with its fixtures.
fn call(function: &ItemFn) -> Result<TokenStream> {
    let name = &function.sig.ident;
    let arguments = function
        .sig
        .inputs
        .iter()
        .map(|argument| match argument {
            FnArg::Typed(argument) => {
                let ty = &argument.ty;
                Ok(quote!(<#ty as ::clmatrix_harness::__private::Fixture>::of_device_under_test()))
            }
            FnArg::Receiver(receiver) => {
                Err(syn::Error::new_spanned(receiver, "a test is a free function"))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(if function.sig.asyncness.is_some() {
        quote!(::clmatrix_harness::__private::pollster::block_on(#name(#(#arguments),*)))
    } else {
        quote!(#name(#(#arguments),*))
    })
}

fn take_attribute(function: &mut ItemFn, name: &str) -> Option<Attribute> {
    let position = function.attrs.iter().position(|a| a.path().is_ident(name))?;
    Some(function.attrs.remove(position))
}

fn ignore_value(attribute: Option<&Attribute>) -> TokenStream {
    match attribute.map(|a| &a.meta) {
        None => quote!(::clmatrix_harness::__private::Ignore::No),
        Some(Meta::NameValue(with_reason)) => {
            let reason = &with_reason.value;
            quote!(::clmatrix_harness::__private::Ignore::Because(#reason))
        }
        Some(_) => quote!(::clmatrix_harness::__private::Ignore::Yes),
    }
}

fn should_panic_value(attribute: Option<&Attribute>) -> Result<TokenStream> {
    let Some(attribute) = attribute else {
        return Ok(quote!(::clmatrix_harness::__private::ShouldPanic::No));
    };
    let expected: Option<Expr> = match &attribute.meta {
        Meta::Path(_) => None,
        Meta::NameValue(value) => Some(value.value.clone()),
        Meta::List(_) => {
            let mut expected = None;
            attribute.parse_nested_meta(|meta| {
                if !meta.path.is_ident("expected") {
                    return Err(meta.error("expected `expected = \"...\"`"));
                }
                let text: Lit = meta.value()?.parse()?;
                expected = Some(parse_quote!(#text));
                Ok(())
            })?;
            expected
        }
    };
    Ok(match expected {
        None => quote!(::clmatrix_harness::__private::ShouldPanic::Yes),
        Some(text) => quote!(::clmatrix_harness::__private::ShouldPanic::With(#text)),
    })
}
