//! The fuzzer of `harness_fuzz::evidence`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(evidence);
