//! The fuzzer of `harness_fuzz::ledger`.
#![cfg_attr(fuzzing, no_main)]
harness_fuzz::fuzzer!(ledger);
