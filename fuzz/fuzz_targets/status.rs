//! The fuzzer of `harness_fuzz::status`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(status);
