//! The fuzzer of `harness_fuzz::submission`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(submission);
