//! The fuzzer of `harness_fuzz::presign`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(presign);
