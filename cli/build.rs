//! Rebuilds when a file is added to the configuration that the binary holds.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=config");
}
