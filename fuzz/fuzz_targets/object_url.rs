//! The fuzzer of `harness_fuzz::object_url`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(object_url);
