//! States of what this crate is built: types of Rust may cross the border of a library only if the compiler and the
//! sources of both sides are the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut digest = DefaultHasher::new();
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    for folder in [here.join("src"), here.join("../cc/src")] {
        println!("cargo:rerun-if-changed={}", folder.display());
        add(&folder, &mut digest)?;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("-vV").output()?;
    let text = String::from_utf8_lossy(&version.stdout);
    text.hash(&mut digest);
    let release = text.lines().next().unwrap_or("rustc").trim();
    println!("cargo:rustc-env=ELEPHAN_BUILT_FROM={release}, sources {:016x}", digest.finish());
    Ok(())
}

fn add(folder: &Path, digest: &mut DefaultHasher) -> io::Result<()> {
    let mut places = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    places.sort();
    for place in places {
        if place.is_dir() {
            add(&place, digest)?;
        } else {
            place.file_name().hash(digest);
            fs::read(&place)?.hash(digest);
        }
    }
    Ok(())
}
