//! The fuzzer of `harness_fuzz::comparison`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(comparison);
