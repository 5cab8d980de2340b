//! The `harness` command: argv in, exit code out.

fn main() {}
