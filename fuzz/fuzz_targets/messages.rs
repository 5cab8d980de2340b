//! The fuzzer of `harness_fuzz::messages`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(messages);
