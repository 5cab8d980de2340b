//! The fuzzer of `harness_fuzz::archive`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(archive);
