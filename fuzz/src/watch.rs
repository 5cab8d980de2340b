//! A watch, and what kubectl says before it serves: bytes that come in pieces.

use std::ops::ControlFlow;

use harness::cluster::watch::hear_lines;
use harness::cluster::{Preamble, Told, WatchEnd, preamble};

/// However the bytes are cut, the same is heard, and the end is the same; kubectl is ready if a whole line says so and
/// nothing before it says otherwise, and more bytes change nothing then.
pub fn watch(data: &[u8]) {
    let whole = heard(data.chunks(data.len().max(1)));
    let cut = usize::from(data.first().copied().unwrap_or_default()) + 1;
    assert_eq!(whole, heard(data.chunks(cut)));
    assert_eq!(whole, heard(data.chunks(1)));
    check_preamble(data);
}

fn heard<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Told>, Option<WatchEnd>) {
    let mut held = Vec::new();
    let mut told = Vec::new();
    for piece in pieces {
        let mut hear = |what: Told| {
            told.push(what);
            ControlFlow::Continue(())
        };
        if let Err(end) = hear_lines(&mut held, piece, &mut hear) {
            return (told, Some(end));
        }
    }
    (told, None)
}

fn check_preamble(data: &[u8]) {
    let complete =
        data.iter().rposition(|byte| *byte == b'\n').map_or(&data[..0], |end| &data[..=end]);
    let is_ready = |line: &[u8]| line.starts_with(b"Starting to serve on ");
    match preamble(data) {
        Some(Preamble::Ready) => assert!(complete.split(|byte| *byte == b'\n').any(is_ready)),
        Some(Preamble::NotStarted(_)) => {}
        Some(Preamble::Stopped | Preamble::Late | Preamble::Ended) => {
            panic!("bytes cannot say that")
        }
        None => assert!(!complete.split(|byte| *byte == b'\n').any(is_ready)),
    }
    let more = [data, b"\nStarting to serve on s\n"].concat();
    match (preamble(data), preamble(&more)) {
        (Some(Preamble::NotStarted(one)), Some(Preamble::NotStarted(other))) => {
            assert_eq!(one.raw_os_error(), other.raw_os_error());
        }
        (Some(Preamble::Ready) | None, Some(Preamble::Ready))
        | (None, Some(Preamble::NotStarted(_))) => {}
        (before, after) => panic!("{before:?} became {after:?}"),
    }
}
