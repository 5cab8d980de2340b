//! The fuzzer of `harness_fuzz::answers`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(answers);
