//! The files that programs see: the host's programs and libraries, read-only, and folders of their own that they may write.
//!
//! The host's files come through hostfs, of which only a few folders are bound into the view. Homes, keys and the rest of
//! the host stay outside, and a program is an ordinary user, who cannot mount them. Everything that a program writes is in memory of limited size, and ends with the guest.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use crate::path::at;
use crate::plan::Plan;
use crate::sys;

/// The host's root, read-only.
const HOST: &str = "/host";
/// Root of the programs.
const ROOT: &str = "/view";
/// Folders of programs and libraries.
const FOLDERS: [&str; 9] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "opt", "nix"];
/// Files and folders below `/etc` that programs and libraries read, without the host's keys and secrets.
const SETTINGS: [&str; 17] = [
    "alternatives",
    "ca-certificates",
    "gai.conf",
    "group",
    "host.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "pki/tls/certs",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
];
/// Empty folders that programs may write.
const WRITABLE: [&str; 9] = ["tmp", "run", "root", "home", "var/tmp", "var/log", "var/lib", "var/cache", "dev/shm"];
/// Devices by name, as major and minor numbers.
const DEVICES: [(&str, u32, u32); 5] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9)];
/// Size of all that programs write.
const SIZE: &str = "size=128m,nr_inodes=16384,mode=755";
/// Largest file of a program that is kept after the run, bytes.
const KEPT_BYTES: u64 = 64 << 20;
/// Largest number of files of a host that are kept.
const KEPT_FILES: usize = 64;
/// Most bytes of all files that are kept: files with holes are larger than the memory that they take.
const KEPT_ALL: u64 = 256 << 20;

/// Environment of a program, besides that of the plan. `OPENSSL_ia32cap` hides the instructions `rdrand` and `rdseed`, whose
/// numbers no seed decides, from OpenSSL, BoringSSL and AWS-LC.
pub const ENVIRONMENT: [(&str, &str); 6] = [
    ("HOME", "/root"),
    ("LANG", "C.UTF-8"),
    ("OPENSSL_ia32cap", "~0x4000000000000000:~0x40000"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("TMPDIR", "/tmp"),
    ("USER", "nobody"),
];

/// Builds the view.
pub fn build(plan: &Plan) -> io::Result<()> {
    fs::create_dir_all(HOST)?;
    fs::create_dir_all(ROOT)?;
    sys::mount_of("none", HOST, "hostfs", MountFlags::RDONLY, "/").map_err(at("the host's files"))?;
    sys::mount_of("tmpfs", ROOT, "tmpfs", MountFlags::empty(), SIZE).map_err(at("the programs' files"))?;
    FOLDERS.iter().try_for_each(|name| show(name).map_err(at(name)))?;
    SETTINGS.iter().try_for_each(|name| show(&format!("etc/{name}")).map_err(at(name)))?;
    for folder in &plan.folders {
        show(&folder.to_string_lossy()).map_err(at(folder.to_string_lossy()))?;
    }
    for name in WRITABLE {
        let folder = below(name);
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777))?;
    }
    fs::create_dir_all(below("proc"))?;
    sys::mount("proc", &below("proc").to_string_lossy())?;
    for (name, major, minor) in DEVICES {
        sys::device(&below(&format!("dev/{name}")), major, minor)?;
    }
    for (name, to) in [("fd", "self/fd"), ("stdin", "self/fd/0"), ("stdout", "self/fd/1"), ("stderr", "self/fd/2")] {
        symlink(format!("/proc/{to}"), below(&format!("dev/{name}")))?;
    }
    fs::write(below("etc/resolv.conf"), "")?;
    fs::write(below("etc/hostname"), "elephan\n")?;
    fs::write(below("etc/hosts"), "127.0.0.1 localhost\n")?;
    for number in 0..plan.programs.len() {
        for role in ["server", "client"] {
            let own = below(&format!("own/{number}/{role}"));
            fs::create_dir_all(&own)?;
            chown(&own, Some(sys::PROGRAMS), Some(sys::PROGRAMS))?;
            fs::create_dir_all(format!("/programs/{number}/{role}"))?;
        }
    }
    Ok(())
}

/// Folder that a program may write and in which it begins, as the program sees it.
pub fn own_folder(place: &str) -> String {
    format!("/own/{place}")
}

/// File of an output of a program.
pub fn outputs(place: &str, name: &str) -> PathBuf {
    below(&format!("own/{place}.{name}"))
}

/// Creates such a file, which the program may open again as `/dev/stdout`.
pub fn create(output: &Path) -> io::Result<File> {
    let file = File::create(output)?;
    chown(output, Some(sys::PROGRAMS), Some(sys::PROGRAMS))?;
    Ok(file)
}

/// Input without content.
pub fn nothing() -> io::Result<File> {
    File::open(below("dev/null"))
}

/// Replaces the root of this process by the view, and its working folder by a folder of the view.
pub fn enter(folder: &str) -> io::Result<()> {
    std::os::unix::fs::chroot(ROOT)?;
    std::env::set_current_dir(folder)
}

/// Copies outputs, and the files in a program's own folder, out of the guest; larger files are cut at the end.
pub fn keep(place: &str, outputs: &[&PathBuf]) -> io::Result<()> {
    let to = PathBuf::from(format!("/programs/{place}"));
    for output in outputs {
        let name = output.extension().unwrap_or_default();
        copy(output, &to.with_extension(name))?;
    }
    let own = below(&format!("own/{place}"));
    keep_folder(&own, &to, &mut (KEPT_FILES, KEPT_ALL))
}

fn keep_folder(from: &Path, to: &Path, left: &mut (usize, u64)) -> io::Result<()> {
    let mut entries = fs::read_dir(from)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
            keep_folder(&entry.path(), &target, left)?;
        } else if kind.is_file() && left.0 > 0 && entry.metadata()?.len() <= left.1 {
            *left = (left.0 - 1, left.1 - entry.metadata()?.len());
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    use std::io::Read;
    let mut limited = File::open(from)?.take(KEPT_BYTES);
    let copied = File::create(to).and_then(|mut file| io::copy(&mut limited, &mut file));
    copied.map(drop).map_err(at(to.to_string_lossy()))
}

fn below(name: &str) -> PathBuf {
    Path::new(ROOT).join(name.trim_start_matches('/'))
}

/// Shows a file or a folder of the host at the same place of the view, if the host has it.
fn show(name: &str) -> io::Result<()> {
    let name = name.trim_start_matches('/');
    let (from, to) = (Path::new(HOST).join(name), below(name));
    let Ok(found) = fs::symlink_metadata(&from) else { return Ok(()) };
    if to.symlink_metadata().is_ok_and(|there| !there.is_dir()) {
        return Ok(());
    }
    if let Some(above) = to.parent() {
        // A folder that is shown already has the rest of the path.
        if !above.exists() {
            fs::create_dir_all(above)?;
        }
    }
    if found.is_symlink() {
        return symlink(fs::read_link(&from)?, &to);
    }
    if found.is_dir() {
        if !to.exists() {
            fs::create_dir_all(&to)?;
        }
    } else {
        File::create(&to)?;
    }
    sys::bind_mount(&from, &to)
}
