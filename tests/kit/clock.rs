//! A wrong clock: the wall clock of one process, set forward while it runs, as a person or a time server does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use super::command;

/// Past the life of every signature.
pub(crate) const YEAR: Duration = Duration::from_hours(365 * 24);

/// Makes the process of this command, and those that it starts, believe so long `after` their start that it is later.
pub(crate) fn set_forward(of: &mut Command, after: Duration, ahead: Duration) {
    of.env("LD_PRELOAD", library())
        .env("TEST_CLOCK_AFTER_MILLISECONDS", after.as_millis().to_string())
        .env("TEST_CLOCK_AHEAD_SECONDS", ahead.as_secs().to_string());
}

/// What is preloaded for it, built once for each run of a test target.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libclock.so");
        // Another target may be using the one that is there.
        let fresh = library.with_extension(std::process::id().to_string());
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kit/clock.c");
        let mut build = command("cc");
        build.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"]).arg(&fresh).arg(source);
        let output = build.output().unwrap();
        assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::rename(&fresh, &library).unwrap();
        library
    })
}
