//! The only file that writes to standard output and standard error.
//!
//! Data goes to standard output, everything else to standard error. A reader that goes away (`| head`) ends
//! the output quietly, as it does for `cat`.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use rustix::event::{PollFd, PollFlags, Timespec};

static OUTPUT_ENDED: AtomicBool = AtomicBool::new(false);
static OUTPUT_FAILED: AtomicBool = AtomicBool::new(false);

/// How a line on standard error begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Something is wrong.
    Error,
    /// Something may be wrong.
    Warning,
    /// Something worth knowing.
    Note,
}

impl Tone {
    /// The word.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    fn style(self) -> Style {
        let colour = match self {
            Self::Error => AnsiColor::Red,
            Self::Warning => AnsiColor::Yellow,
            Self::Note => AnsiColor::Cyan,
        };
        Style::new().bold().fg_color(Some(colour.into()))
    }
}

/// Writes data to standard output, with a final line feed.
pub(super) fn data(text: &str) {
    write(|output| {
        output.write_all(text.as_bytes())?;
        if text.ends_with('\n') { Ok(()) } else { output.write_all(b"\n") }
    });
}

/// Writes lines to standard output as they come, each with this end.
pub(super) fn lines(mut lines: impl Iterator<Item = String>, end: &str) {
    write(|output| {
        let mut output = BufWriter::new(output);
        lines.try_for_each(|line| write!(output, "{line}{end}"))?;
        output.flush()
    });
}

/// Writes bytes to standard output as they are.
pub(super) fn raw(bytes: &[u8]) {
    write(|output| output.write_all(bytes));
}

/// Writes to standard output and flushes it, unless it has ended.
fn write(action: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) {
    if OUTPUT_ENDED.load(Ordering::Relaxed) {
        return;
    }
    let mut output = io::stdout().lock();
    if let Err(error) = action(&mut output).and_then(|()| output.flush()) {
        note_failure(&error);
    }
}

/// Whether standard output goes to eyes.
pub(super) fn is_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether a reader has gone away, which a pipe tells before anything is written to it again.
pub(super) fn output_ended() -> bool {
    OUTPUT_ENDED.load(Ordering::Relaxed) || is_broken()
}

/// POSIX reports these two whether or not anything was asked for: `poll` of POSIX.1-2017.
fn is_broken() -> bool {
    let output = io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut watched, Some(&now)).is_ok_and(|count| count > 0)
        && watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

fn note_failure(error: &io::Error) {
    OUTPUT_ENDED.store(true, Ordering::Relaxed);
    if error.kind() != io::ErrorKind::BrokenPipe {
        OUTPUT_FAILED.store(true, Ordering::Relaxed);
        say(Tone::Error, &format!("cannot write to standard output: {error}"));
    }
}

/// Whether some data could not be written, for instance to a full disk.
pub(super) fn output_failed() -> bool {
    OUTPUT_FAILED.load(Ordering::Relaxed)
}

/// Writes `error: ...` or its like to standard error; further lines are indented.
pub(super) fn say(tone: Tone, text: &str) {
    let style = tone.style();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut whole = format!("{style}{}{style:#}: {first}\n", tone.word());
    for line in rest.lines() {
        whole.push_str("  ");
        whole.push_str(line);
        whole.push('\n');
    }
    // Nobody is left to hear of a failure here.
    let _ = anstream::stderr().lock().write_all(whole.as_bytes());
}

/// Passes on what kubectl and its credential plugins say, unchanged but for what could harm a terminal.
pub(super) fn pass_on(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Standard output and error as files of their own, for a program's output that goes through byte for byte.
pub(super) fn raw_streams() -> io::Result<(File, File)> {
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    let stderr = io::stderr().as_fd().try_clone_to_owned()?;
    Ok((File::from(stdout), File::from(stderr)))
}

/// Asks a person, on standard error and without an end of line.
pub(super) fn ask(question: &str) {
    let mut error = anstream::stderr().lock();
    let _ = error.write_all(question.as_bytes()).and_then(|()| error.flush());
}
