//! Exists so that Cargo builds the dependencies of the manifest.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
