//! The command line as its users meet it: the built program, without a cluster.
#![cfg(test)]

mod completions;
mod documentation;
mod files;
mod help;
mod hostile;
mod init;
mod kit;
mod output;
mod submit;
mod terminal;
