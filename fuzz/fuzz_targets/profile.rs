//! The fuzzer of `harness_fuzz::profile`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(profile);
