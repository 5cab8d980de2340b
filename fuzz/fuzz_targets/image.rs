//! The fuzzer of `harness_fuzz::image`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(image);
