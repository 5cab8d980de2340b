//! Zstandard streams of several frames, skippable ones included, with their checksums held (RFC 8878, section 3).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window, which is kept in memory: 64 MiB, `zstd --ultra -22` needs 128 MiB and is refused.
const LARGEST_WINDOW: u64 = 64 << 20;

/// Decodes frame after frame.
pub(super) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        Self { source, decoder, in_frame: false }
    }

    /// Begins the next frame; false at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(error) => match skippable(&error) {
                    Some(length) => {
                        let skipped =
                            io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                        if skipped < length {
                            return Err(io::ErrorKind::UnexpectedEof.into());
                        }
                    }
                    None => return Err(io::Error::other(error.to_string())),
                },
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a frame's checksum is wrong"));
        }
        Ok(())
    }
}

fn skippable(error: &FrameDecoderError) -> Option<u64> {
    match error {
        FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length, ..
        }) => Some(u64::from(*length)),
        _ => None,
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame && !self.begin()? {
                return Ok(0);
            }
            if self.decoder.can_collect() == 0 {
                if self.decoder.is_finished() {
                    self.end()?;
                    continue;
                }
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::other(error.to_string()))?;
                continue;
            }
            return self.decoder.read(buffer);
        }
    }
}
