//! One input onto the disk: streamed, hashed, bounded, tried again while there is time.
//!
//! A cut transfer goes on where it was if the store names the state of the object (a strong entity tag) and still has
//! that state; otherwise it begins again. In the end the digest decides.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use super::Failure;
use super::hashing::Hasher;
use crate::clock::Clock;
use crate::execution::Category;
use crate::execution::store::{Address, Download, Opened, Range, Store, Trouble};
use crate::submission::Sha256Digest;

/// The first pause before another try; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause that is not the store's wish.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// What is fetched, and what it must be.
pub(super) struct Input<'a> {
    /// `mission`, `snapshot` or `resume`.
    pub(super) name: &'static str,
    pub(super) address: &'a Address,
    pub(super) digest: Sha256Digest,
    /// The most bytes.
    pub(super) limit: u64,
}

/// Fetches into a new file at `path`; gives its size. Gives up before `deadline` (boot time).
pub(super) fn fetch(
    store: &Store,
    clock: &dyn Clock,
    deadline: Duration,
    input: &Input<'_>,
    path: &Path,
) -> Result<u64, Failure> {
    let file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| disk(&error))?;
    let hasher = Hasher::start().map_err(|error| disk(&error))?;
    let mut transfer = Transfer { input, file, hasher, received: 0, etag: None, encoding: None };
    let mut tries = 0_u32;
    let mut fruitless = 0_u32;
    loop {
        let before = transfer.received;
        tries += 1;
        let Some(trouble) = transfer.attempt(store)? else {
            return transfer.finish();
        };
        fruitless = if transfer.received > before { 0 } else { fruitless + 1 };
        let pause = trouble
            .retry_after
            .unwrap_or_else(|| LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.pow(fruitless.min(6))));
        if clock.boottime() + pause >= deadline {
            return Err(gave_up(input, tries, &trouble));
        }
        clock.sleep(pause);
    }
}

struct Transfer<'a> {
    input: &'a Input<'a>,
    file: File,
    hasher: Hasher,
    received: u64,
    etag: Option<String>,
    encoding: Option<String>,
}

impl Transfer<'_> {
    /// One request; none when everything is there.
    fn attempt(&mut self, store: &Store) -> Result<Option<Trouble>, Failure> {
        let range = match &self.etag {
            Some(etag) if self.received > 0 => {
                Some(Range { from: self.received, etag: etag.clone() })
            }
            _ => None,
        };
        match store.get(self.input.address, range.as_ref()) {
            Download::Opened(opened) => self.take(opened),
            Download::Unknown(trouble) if trouble.lasting => Err(Failure::new(
                Category::Environment,
                format!(
                    "the {} cannot be fetched from {}: {trouble}",
                    self.input.name, self.input.address
                ),
                "check the certificates that the pod believes (`ca_config_map`) and the URL",
            )),
            Download::Unknown(trouble) => Ok(Some(trouble)),
            // The object became shorter than what is there of it.
            Download::Refused(refusal) if refusal.status == 416 && range.is_some() => {
                self.begin_again()?;
                Ok(Some(Trouble {
                    what: "the object changed while it was fetched".to_owned(),
                    retry_after: None,
                    lasting: false,
                }))
            }
            Download::Refused(refusal) => Err(Failure::new(
                Category::DownloadRefused,
                format!(
                    "the store refuses the {} at {}: {refusal}",
                    self.input.name, self.input.address
                ),
                match refusal.status {
                    300..=399 => "sign a URL of the host that holds the object",
                    404 => "check that the object is there, then submit again as another attempt",
                    _ if refusal.expired => {
                        "sign the URL again with a longer life, and submit again as another attempt"
                    }
                    _ => {
                        "check that the URL is signed for GET, has not expired, and that its signer may read the object"
                    }
                },
            )),
        }
    }

    fn take(&mut self, mut opened: Opened) -> Result<Option<Trouble>, Failure> {
        if opened.start != self.received {
            self.begin_again()?;
        }
        self.etag = opened.etag.take();
        self.encoding = opened.encoding.take();
        if let Some(total) = opened.total.filter(|total| *total > self.input.limit) {
            return Err(self.too_large(&format!("{total} bytes")));
        }
        loop {
            let mut buffer = self.hasher.buffer();
            let ended = fill(&mut opened, &mut buffer.bytes, &mut buffer.used);
            self.received += buffer.used as u64;
            if self.received > self.input.limit {
                return Err(self.too_large("more"));
            }
            let written = self.file.write_all(&buffer.bytes[..buffer.used]);
            self.hasher.add(buffer);
            written.map_err(|error| disk(&error))?;
            match ended {
                Ok(false) => {}
                Ok(true) if opened.total.is_none_or(|total| total == self.received) => {
                    return Ok(None);
                }
                Ok(true) => {
                    return Ok(Some(Trouble {
                        what: "the object ended before everything had come".to_owned(),
                        retry_after: None,
                        lasting: false,
                    }));
                }
                Err(trouble) => return Ok(Some(trouble)),
            }
        }
    }

    fn begin_again(&mut self) -> Result<(), Failure> {
        self.file.set_len(0).map_err(|error| disk(&error))?;
        self.file.seek(SeekFrom::Start(0)).map_err(|error| disk(&error))?;
        self.hasher = Hasher::start().map_err(|error| disk(&error))?;
        self.received = 0;
        self.etag = None;
        Ok(())
    }

    fn too_large(&self, found: &str) -> Failure {
        Failure::new(
            Category::InputsTooLarge,
            format!(
                "the {} has {found}, and {} bytes are left for it",
                self.input.name, self.input.limit
            ),
            "choose a profile with larger `volumes.inputs` (archive and unpacked files lie there side by side), or make the input smaller",
        )
    }

    fn finish(self) -> Result<u64, Failure> {
        let found = self.hasher.finish();
        let input = self.input;
        if found == input.digest {
            return Ok(self.received);
        }
        let encoding = self.encoding.map_or_else(String::new, |encoding| {
            format!(", sent with Content-Encoding {encoding}")
        });
        let mut failure = Failure::new(
            Category::DigestMismatch,
            format!(
                "the {} ({} bytes{encoding}) has SHA-256 {found}, and the submission names {}",
                input.name, self.received, input.digest
            ),
            "nothing was run; find out which of the two is right, then submit again as another attempt",
        );
        failure.digests.push((input.name, found));
        Err(failure)
    }
}

/// Fills the buffer as far as it goes; true at the end of the body.
fn fill(opened: &mut Opened, bytes: &mut [u8], used: &mut usize) -> Result<bool, Trouble> {
    while *used < bytes.len() {
        match opened.read(&mut bytes[*used..])? {
            0 => return Ok(true),
            read => *used += read,
        }
    }
    Ok(false)
}

fn gave_up(input: &Input<'_>, tries: u32, trouble: &Trouble) -> Failure {
    let times = if tries == 1 { "one try".to_owned() } else { format!("{tries} tries") };
    Failure::new(
        Category::DownloadFailed,
        format!(
            "the {} could not be fetched from {} in {times}: {trouble}",
            input.name, input.address
        ),
        "check the store and the way to it (network policy, proxy, DNS), then submit again as another attempt",
    )
}

/// The volume does not take what is written.
pub(super) fn disk(error: &std::io::Error) -> Failure {
    Failure::new(
        Category::Environment,
        format!("the inputs volume cannot be written: {error}"),
        "look at the node's disk and at the profile's `volumes.inputs`",
    )
}
