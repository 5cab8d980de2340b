//! What a machine must have to be a node, and the commands that give it what is missing.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use rustix::process::geteuid;

/// Programs and the Debian packages that have them.
const PROGRAMS: [(&str, &str); 7] = [
    ("runc", "runc"),
    ("ip", "iproute2"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("mount", "mount"),
    ("tar", "tar"),
    ("busybox", "busybox-static"),
];

/// Folders that the node covers with empty ones of its own.
const COVERED: [&str; 3] = ["/run", "/var/lib", "/var/log"];

/// Fails with everything that is missing and how to get it.
pub(super) fn check() -> Result<()> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|(program, _)| find(program).is_none()).collect();
    if !missing.is_empty() {
        let names = missing.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(", ");
        let mut packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
        packages.dedup();
        bail!(
            "a node needs these programs, which are not there: {names}; \
             on Debian: apt-get install {}",
            packages.join(" ")
        );
    }
    if !geteuid().is_root() {
        bail!(
            "a node needs root, since containers get networks, mounts and control groups; run the \
             tests as root, or leave out those of the node (`scripts/test --without-node`)"
        );
    }
    if fs::read("/usr/bin/busybox").is_ok_and(|bytes| is_dynamic(&bytes)) {
        bail!(
            "/usr/bin/busybox needs shared libraries; images want one that does not: on Debian, \
             apt-get install busybox-static"
        );
    }
    Ok(())
}

/// Fails when the state of a node would be covered.
pub(super) fn check_place(state: &Path) -> Result<()> {
    match COVERED.iter().find(|covered| state.starts_with(covered)) {
        Some(covered) => bail!(
            "the state of a node cannot lie below {covered}, where the node has a folder of its own; \
             set TMPDIR to another"
        ),
        None => Ok(()),
    }
}

/// Where a program is: in `PATH` or where programs for root are.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from));
    folders.into_iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// As [`find`], for what [`check`] has found.
pub(crate) fn path(program: &str) -> Result<PathBuf> {
    find(program).with_context(|| format!("there is no `{program}` on this machine"))
}

/// Whether an ELF file names a program interpreter.
fn is_dynamic(bytes: &[u8]) -> bool {
    bytes.windows(9).any(|window| window == b"/ld-linux")
}
