//! Fuzz targets: everything that harness reads and did not write itself, each with what must hold for any bytes.
//!
//! A target is a function of bytes that panics where a property does not hold; that it does not panic otherwise is the
//! least of them. `scripts/fuzz` looks for bytes that break one, guided by coverage; `cargo fuzz run NAME` does the same.
//! The tests here replay the committed corpora, and need neither. docs/fuzzing.md says what each target claims.
//!
//! Inputs are texts where that is possible, so that a corpus can be read and written by hand.

mod answers;
mod archive;
mod common;
mod comparison;
mod evidence;
mod headers;
mod image;
mod ledger;
mod messages;
mod mission;
mod object_url;
mod presign;
mod profile;
mod situation;
mod status;
mod submission;
mod terminal;
mod unpack;
mod watch;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use libfuzzer_sys;

pub use answers::answers;
pub use archive::archive;
pub use comparison::comparison;
pub use evidence::evidence;
pub use headers::headers;
pub use image::image;
pub use ledger::ledger;
pub use messages::messages;
pub use mission::mission;
pub use object_url::object_url;
pub use presign::presign;
pub use profile::profile;
pub use status::status;
pub use submission::submission;
pub use terminal::terminal;
pub use unpack::unpack;
pub use watch::watch;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also that of its fuzzer, its corpus and its dictionary.
pub const TARGETS: [(&str, Target); 17] = [
    ("answers", answers),
    ("archive", archive),
    ("comparison", comparison),
    ("evidence", evidence),
    ("headers", headers),
    ("image", image),
    ("ledger", ledger),
    ("messages", messages),
    ("mission", mission),
    ("object_url", object_url),
    ("presign", presign),
    ("profile", profile),
    ("status", status),
    ("submission", submission),
    ("terminal", terminal),
    ("unpack", unpack),
    ("watch", watch),
];

/// The whole fuzzer of a target: libFuzzer's where the build is for fuzzing, else a program that runs the target once
/// with each file of its arguments, as a debugger wants it.
#[macro_export]
macro_rules! fuzzer {
    ($name:ident) => {
        #[cfg(fuzzing)]
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$name(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            std::env::args_os().skip(1).try_for_each(|path| {
                $crate::$name(&std::fs::read(path)?);
                Ok(())
            })
        }
    };
}

#[cfg(test)]
mod tests;
