//! Takes up a container's output where its stream broke, without losing or repeating a line.
//!
//! The node is asked for the times of the lines, and after a break for all lines since shortly before the last one, for
//! it understands whole seconds only. Each line that was handed on is known by its time, so that a rotated file of
//! the node does no harm as a count of bytes would. Pure.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

/// A time of RFC 3339 with nanoseconds and a zone is shorter.
const LONGEST_TIME: usize = 40;

/// Standard output and error are written side by side, so that lines may stand a little out of order.
const DISORDER: Duration = Duration::from_secs(1);

/// What a stream hands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// The next bytes.
    Bytes(&'a [u8]),
    /// The node did not have any more what came right after the last line before the break; lines may be missing here.
    Gap,
}

/// What was handed on of one container's output.
#[derive(Debug, Default)]
pub struct Resume {
    /// How many lines there were of each time, as far back as the node would be asked again.
    shown: BTreeMap<Timestamp, u64>,
    since: Option<Timestamp>,
    /// The time of the very first line, before which nothing was wanted.
    first: Option<Timestamp>,
    /// The line that has begun and has not ended: its time, and how much of it was handed on.
    open: Option<(Timestamp, u64)>,
}

/// One stream of output, with what was known before it.
#[derive(Debug)]
pub struct Stream<'a> {
    resume: &'a mut Resume,
    /// Of what was handed on before, what this stream has not repeated yet.
    repeats: BTreeMap<Timestamp, u64>,
    open_before: Option<(Timestamp, u64)>,
    has_repeated: bool,
    has_shown: bool,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// In the time before a line, of which so much has come.
    Time(Vec<u8>),
    /// In a line that is handed on.
    Shown,
    /// In a line that was handed on before or was never wanted, but for what comes after so many bytes of it.
    Repeated(Option<u64>),
}

impl Resume {
    /// Since when the node has to be asked, after a break; nothing at first.
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Begins to read a stream with the times of its lines, that of [`Self::since`].
    pub fn stream(&mut self) -> Stream<'_> {
        Stream {
            repeats: self.shown.clone(),
            open_before: self.open,
            resume: self,
            has_repeated: false,
            has_shown: false,
            place: Place::Time(Vec::new()),
        }
    }

    fn note(&mut self, time: Timestamp) {
        *self.shown.entry(time).or_default() += 1;
        self.first = self.first.or(Some(time));
        let since = Some(oldest(time));
        if since > self.since {
            self.since = since;
            self.shown = self.shown.split_off(&oldest(time));
        }
        self.open = Some((time, 0));
    }
}

/// The whole second that lies far enough before a time.
fn oldest(time: Timestamp) -> Timestamp {
    let seconds = TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Floor);
    let early = time.checked_sub(DISORDER).unwrap_or(Timestamp::MIN);
    early.round(seconds).unwrap_or(early)
}

impl Stream<'_> {
    /// Takes the next bytes of the stream and hands on what is new of them, without the times, until `take` has enough.
    pub fn piece(
        &mut self,
        mut piece: &[u8],
        take: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while !piece.is_empty() {
            let line_end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            piece = match &mut self.place {
                Place::Time(held) => {
                    let known = held.len();
                    let mark = piece.iter().position(|byte| matches!(byte, b' ' | b'\n'));
                    let wanted =
                        mark.map_or(piece.len(), |at| at + 1).min(LONGEST_TIME + 1 - known);
                    held.extend_from_slice(&piece[..wanted]);
                    if mark.is_some_and(|at| at < wanted) || held.len() > LONGEST_TIME {
                        let time = std::mem::take(held);
                        self.begin(&time, take)?;
                    }
                    &piece[wanted..]
                }
                Place::Shown => {
                    let end = line_end.unwrap_or(piece.len());
                    self.show(&piece[..end], take)?;
                    &piece[end..]
                }
                Place::Repeated(known) => {
                    let end = line_end.unwrap_or(piece.len());
                    let left = known.unwrap_or(u64::MAX);
                    let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(end);
                    if known.is_some() {
                        *known = Some(left - skipped as u64);
                    }
                    if skipped < end {
                        self.place = Place::Shown;
                    } else if line_end.is_some() {
                        self.place = Place::Time(Vec::new());
                    }
                    &piece[skipped..]
                }
            };
        }
        ControlFlow::Continue(())
    }

    /// A line begins, with its time or, where the node itself has something to say, without one.
    fn begin(
        &mut self,
        head: &[u8],
        take: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let text = std::str::from_utf8(head).ok().and_then(|text| text.strip_suffix(' '));
        let Some(time) = text.and_then(|text| text.parse::<Timestamp>().ok()) else {
            self.resume.open = None;
            return self.show(head, take);
        };
        if let Some(left) = self.repeats.get_mut(&time).filter(|left| **left > 0) {
            *left -= 1;
            self.has_repeated = true;
            let is_open = *left == 0 && self.open_before.is_some_and(|(open, _)| open == time);
            let known = self.open_before.filter(|_| is_open).map(|(_, bytes)| bytes);
            self.place = Place::Repeated(known);
            return ControlFlow::Continue(());
        }
        if !self.repeats.is_empty() && self.resume.first.is_some_and(|first| time < first) {
            self.place = Place::Repeated(None);
            return ControlFlow::Continue(());
        }
        let is_first = !std::mem::replace(&mut self.has_shown, true);
        let is_after_a_gap = is_first && !self.repeats.is_empty() && !self.has_repeated;
        self.resume.note(time);
        self.place = Place::Shown;
        if is_after_a_gap { take(Part::Gap) } else { ControlFlow::Continue(()) }
    }

    /// Hands on a part of a line, with its end where it has come.
    fn show(
        &mut self,
        part: &[u8],
        take: &mut dyn FnMut(Part<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if part.last() == Some(&b'\n') {
            self.place = Place::Time(Vec::new());
            self.resume.open = None;
        } else {
            self.place = Place::Shown;
            if let Some((_, bytes)) = &mut self.resume.open {
                *bytes += part.len() as u64;
            }
        }
        take(Part::Bytes(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the node holds: nanoseconds after a minute, and a line.
    const LINES: [(u64, &str); 9] = [
        (5, "a\n"),
        (5, "b\n"),
        (5, "b\n"),
        (9, "later\n"),
        (8, "earlier\n"),
        (1_000_000_001, "\n"),
        (
            1_000_000_002,
            "a line that is longer than a time can be, with \u{1b}[31m and 2026-11-30T10:00:00Z\n",
        ),
        (3_500_000_000, "c\n"),
        (3_500_000_000, "é d"),
    ];

    fn time(nanoseconds: u64) -> Timestamp {
        let minute = "2026-11-30T10:00:00Z".parse::<Timestamp>().unwrap();
        minute + Duration::from_nanos(nanoseconds)
    }

    /// As the kubelet writes lines from a time on.
    fn node(lines: &[(u64, &str)], since: Option<Timestamp>) -> Vec<u8> {
        let asked = lines.iter().filter(|(at, _)| since.is_none_or(|since| time(*at) >= since));
        asked.flat_map(|(at, line)| format!("{:.9} {line}", time(*at)).into_bytes()).collect()
    }

    fn read(resume: &mut Resume, bytes: &[u8], size: usize) -> (Vec<u8>, bool) {
        let (mut shown, mut lost) = (Vec::new(), false);
        let mut stream = resume.stream();
        for piece in bytes.chunks(size) {
            let taken = stream.piece(piece, &mut |part| {
                match part {
                    Part::Bytes(bytes) => shown.extend_from_slice(bytes),
                    Part::Gap => lost = true,
                }
                ControlFlow::Continue(())
            });
            assert!(taken.is_continue());
        }
        (shown, lost)
    }

    #[test]
    fn breaks_anywhere_lose_and_repeat_nothing() {
        let whole: String = LINES.iter().map(|(_, line)| *line).collect();
        let length = node(&LINES, None).len();
        for size in [1, 7, 4096] {
            for first in (0..=length).step_by(if size == 1 { 5 } else { 1 }) {
                for second in [1, 30, length] {
                    let mut resume = Resume::default();
                    let mut shown = Vec::new();
                    for cut in [first, second, length] {
                        let bytes = node(&LINES, resume.since());
                        let (new, lost) = read(&mut resume, &bytes[..cut.min(bytes.len())], size);
                        shown.extend(new);
                        assert!(!lost);
                    }
                    assert_eq!(String::from_utf8_lossy(&shown), whole, "{size} {first} {second}");
                }
            }
        }
    }

    #[test]
    fn what_the_node_has_forgotten_is_said() {
        let mut resume = Resume::default();
        let lines = [(1, "a\n"), (2, "b\n"), (3, "c\n"), (7, "g\n")];
        assert_eq!(read(&mut resume, &node(&lines[..2], None), 3), (b"a\nb\n".to_vec(), false));
        // Rotated, but the last line that was shown is still there.
        assert_eq!(read(&mut resume, &node(&lines[1..3], None), 3), (b"c\n".to_vec(), false));
        assert_eq!(read(&mut resume, b"", 3), (Vec::new(), false));
        assert_eq!(read(&mut resume, &node(&lines[3..], None), 3), (b"g\n".to_vec(), true));
    }

    #[test]
    fn lines_before_the_first_one_are_never_shown() {
        let mut resume = Resume::default();
        let lines = [(1, "a\n"), (2, "b\n"), (3, "c\n"), (4, "d\n")];
        assert_eq!(read(&mut resume, &node(&lines[2..3], None), 3), (b"c\n".to_vec(), false));
        let since = resume.since();
        assert_eq!(read(&mut resume, &node(&lines, since), 3), (b"d\n".to_vec(), false));
    }

    #[test]
    fn what_the_node_itself_says_is_shown() {
        let mut resume = Resume::default();
        let said = b"unable to retrieve container logs for containerd://1234567890\n\nno space\n";
        assert_eq!(read(&mut resume, said, 5), (said.to_vec(), false));
        assert_eq!(resume.since(), None);
    }
}
