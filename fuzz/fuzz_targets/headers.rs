//! The fuzzer of `harness_fuzz::headers`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(headers);
