//! The macros of `clmatrix-harness` and `clmatrix-cli`, which re-export and document them.

mod embedded;
mod entry;
mod lost_tests;
mod options;
mod test;

use proc_macro::TokenStream;

/// Registers a function as a test that runs once on every selected device.
///
/// ```ignore
/// #[clmatrix_harness::test(requires(fp64, opencl = "1.2"), timeout = "30s")]
/// fn scales(ctx_factory: CtxFactory) -> clmatrix::Result<()> { ... }
/// ```
///
/// Options, all of them optional:
///
/// | option | meaning |
/// |---|---|
/// | `requires(...)` | what the device must have; a device without it skips the test, with the reason in the report |
/// | `timeout = "30s"` | time limit of this test, instead of the configuration's |
/// | `once` | the test needs no device: it runs once, under `host` |
/// | `fresh_context` | `ctx_factory` makes new contexts, also where tests reuse contexts |
/// | `own_worker` | no other test runs in the process of this one, before or after it; where tests reuse contexts, only if it has an expectation |
/// | `alone` | no other test runs on the device meanwhile, if the device has several slots |
///
/// Inside `requires`: `fp64`, `fp16`, `images`, `pipes`, `svm` (or `svm = "coarse"`, `"fine"`,
/// `"system"`, `"atomics"`), `opencl = "1.2"`, `extension = "cl_khr_..."` (may be repeated), and
/// sizes that the device must reach: `global_mem = "1 GiB"`, `max_alloc = "256 MiB"`,
/// `local_mem = "32 KiB"`; `subgroup` for sub-groups of any size, `subgroup = 32` for those of a size
/// that the driver reports. A warp or wavefront alone does not count: kernels lack the functions of sub-groups then.
/// All requirements are checked against the driver's answers, never against measurements.
///
/// Without `#[rstest]`, each argument is bound by its type, which has the trait `Fixture`: a `CtxFactory`, a
/// `Context`, a `Device`, a `Platform`, or a type of your own. Beside `#[rstest]`, in either order and with all that
/// rstest offers, each argument is a case, a value, or the fixture of its name, such as
/// `clmatrix_harness::ctx_factory`.
///
/// `#[ignore]`, `#[should_panic]`, `async` and any `Result` whose error is `Debug` work as usual.
#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    test::expand(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The `main` of a test target with `harness = false`.
///
/// ```toml
/// [[test]]
/// name = "devices"
/// harness = false
/// ```
///
/// Without `harness = false` the target does not compile.
///
/// `main!()` runs the tests of this target. `main!(my_suites)` runs those of the crate
/// `my_suites` too, and leaves its name out of their ids. `main!(config = "config")`, or
/// `main!(my_suites, config = "config")`, includes a configuration in the executable:
/// `clmatrix.toml` and `expectations/*.toml` in the named folder, which is relative to the folder of
/// Cargo.toml. The executable then has its profiles and expectations wherever it is started. The
/// page `docs/guide/configuration.md` describes what a file on disk adds to them. A target with
/// libtest's own `main` (`harness = true`) embeds no configuration. It reads only files.
///
/// cargo rebuilds the target when an included file changes. It does not notice a new file in
/// `expectations` by itself: a build script that prints `cargo::rerun-if-changed=config` makes it
/// notice that too. A folder outside the package, such as one at the top of a workspace, is included
/// by a symbolic link beside Cargo.toml; cargo puts the files themselves into a package.
///
/// A `#[test]`, an `#[rstest]` or an `#[apply]` of rstest_reuse without [`macro@test`] in such a target would vanish
/// in silence, since the compiler drops them; here they are a compile error.
#[proc_macro]
pub fn main(input: TokenStream) -> TokenStream {
    let lost = lost_tests::in_file_of_call_site();
    entry::expand(input.into(), entry::Front::Libtest, lost).into()
}

/// The `main` of a command line over the tests of the named crates: `command!(my_suites);`.
///
/// Like the binary `clmatrix`, it has the subcommands `run`, `report`, `list`, `devices` and others. It is
/// `clmatrix_cli::command!`, of the crate `clmatrix-cli`.
/// `command!(my_suites, config = "config")` includes a configuration in the executable, as
/// [`main!`](macro@main) does.
///
/// The build script of a package with tests sets `cfg(test)` for the cases of rstest, which is checked unless all
/// named crates are of other packages.
#[proc_macro]
pub fn command(input: TokenStream) -> TokenStream {
    entry::expand(input.into(), entry::Front::Command, Vec::new()).into()
}
