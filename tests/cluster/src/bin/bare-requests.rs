//! What the API server and `kubectl proxy` alone need for many submissions: a loop without any thought.
//!
//! For every pair of a Secret and a Job it sends the requests that `harness prediction dispatch submit` sends for a
//! fresh submission, in that order, over the Unix socket of a `kubectl proxy`, a fixed number of pairs at a time, and
//! looks at nothing but the status and the length of the answers. What `submit` sends side by side goes side by side
//! here too. `scripts/performance batch` runs it.
//!
//! Each file of the directory is one pair, as `harness prediction dispatch render --reveal-secrets -o json` prints it.
//!
//! usage: `bare-requests SOCKET NAMESPACE CONCURRENCY DIRECTORY`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::Value;

/// Most requests that go side by side for one pair.
const SIDE_BY_SIDE: usize = 3;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket, namespace, concurrency, directory] = &arguments[..] else {
        bail!("usage: bare-requests SOCKET NAMESPACE CONCURRENCY DIRECTORY");
    };
    let files: Vec<PathBuf> = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        let mut connections = (0..SIDE_BY_SIDE)
            .map(|_| Connection::open(Path::new(socket)))
            .collect::<Result<Vec<_>>>()?;
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            for group in requests(&Pair::read(file)?, namespace) {
                send(&mut connections, &group)?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..concurrency.parse()?).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?)
    })
}

/// A Secret and a Job, each with its name and its JSON.
struct Pair {
    secret: (String, Vec<u8>),
    job: (String, Vec<u8>),
}

impl Pair {
    fn read(file: &Path) -> Result<Self> {
        let list: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let object = |kind: &str| -> Result<(String, Vec<u8>)> {
            let mut items = list["items"].as_array().into_iter().flatten();
            let object = items.find(|item| item["kind"] == kind).context("a pair has both")?;
            let name = object["metadata"]["name"].as_str().context("it has a name")?;
            Ok((name.to_owned(), serde_json::to_vec(object)?))
        };
        Ok(Self { secret: object("Secret")?, job: object("Job")? })
    }
}

/// One request and the status that it must get.
struct Exchange {
    text: Vec<u8>,
    status: &'static str,
}

/// The requests of one fresh submission; those of one group go side by side.
fn requests(pair: &Pair, namespace: &str) -> Vec<Vec<Exchange>> {
    let core = format!("/api/v1/namespaces/{namespace}");
    let jobs = format!("/apis/batch/v1/namespaces/{namespace}/jobs");
    let secrets = format!("{core}/secrets");
    let get = |path: String, status| Exchange {
        text: message("GET", &path, "timeout=13500ms", b""),
        status,
    };
    let post = |path: &str, body: &[u8], more: &str| {
        let query = format!("fieldManager=harness&fieldValidation=Strict{more}&timeout=13500ms");
        Exchange { text: message("POST", path, &query, body), status: "201" }
    };
    let (secret, job) = (&pair.secret, &pair.job);
    vec![
        vec![
            get(core.clone(), "200"),
            get(format!("{jobs}/{}", job.0), "404"),
            get(format!("{secrets}/{}", secret.0), "404"),
        ],
        vec![
            get(format!("{core}/configmaps/{}", job.0), "404"),
            post(&jobs, &job.1, "&dryRun=All"),
            post(&secrets, &secret.1, "&dryRun=All"),
        ],
        vec![post(&secrets, &secret.1, "")],
        vec![post(&jobs, &job.1, "")],
    ]
}

fn message(method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let mut message = format!(
        "{method} {path}?{query} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\
         accept-encoding: identity\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    message.extend_from_slice(body);
    message
}

/// Writes all, then reads all: side by side without a thread.
fn send(connections: &mut [Connection], group: &[Exchange]) -> Result<()> {
    for (connection, exchange) in connections.iter_mut().zip(group) {
        connection.0.get_mut().write_all(&exchange.text)?;
    }
    for (connection, exchange) in connections.iter_mut().zip(group) {
        connection.answer(exchange.status)?;
    }
    Ok(())
}

struct Connection(BufReader<UnixStream>);

impl Connection {
    fn open(socket: &Path) -> Result<Self> {
        Ok(Self(BufReader::new(UnixStream::connect(socket)?)))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_ascii_lowercase())
    }

    fn answer(&mut self, status: &str) -> Result<()> {
        let first = self.line()?;
        if first.split(' ').nth(1) != Some(status) {
            bail!("{status} was expected, and this came: {first}");
        }
        let mut length = None;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<u64>()?);
            }
        }
        match length {
            Some(length) => self.skip(length),
            None => self.skip_chunks(),
        }
    }

    fn skip_chunks(&mut self) -> Result<()> {
        loop {
            let size = u64::from_str_radix(&self.line()?, 16)?;
            // The end of the line belongs to the chunk.
            self.skip(size + 2)?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn skip(&mut self, length: u64) -> Result<()> {
        let skipped = std::io::copy(&mut self.0.by_ref().take(length), &mut std::io::sink())?;
        ensure!(skipped == length, "the answer was cut");
        Ok(())
    }
}
