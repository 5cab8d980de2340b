//! The fuzzer of `harness_fuzz::watch`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(watch);
