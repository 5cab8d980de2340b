//! The fuzzer of `harness_fuzz::terminal`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(terminal);
