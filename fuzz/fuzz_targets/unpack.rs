//! The fuzzer of `harness_fuzz::unpack`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(unpack);
