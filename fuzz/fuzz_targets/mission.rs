//! The fuzzer of `harness_fuzz::mission`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(mission);
