//! The `harness` command: argv in, exit code out.

use std::process::ExitCode;

use harness::{cli, cluster::guard};
use zeroizing_alloc::ZeroAlloc;

/// Signed URLs pass through parsers, encoders and buffers of libraries; whatever holds one is cleared when it is freed.
#[global_allocator]
static ALLOCATOR: ZeroAlloc<std::alloc::System> = ZeroAlloc(std::alloc::System);

fn main() -> ExitCode {
    let mut argv = std::env::args_os();
    // The guard of kubectl is this same binary, so that it is there wherever harness is.
    if argv.nth(1).is_some_and(|word| word == guard::ARGUMENT) {
        return guard::guard_main(argv);
    }
    cli::run(std::env::args_os())
}
