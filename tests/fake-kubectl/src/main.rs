//! A kubectl that knows only `proxy`, and serves what its script says.
#![expect(
    clippy::disallowed_methods,
    reason = "a test program: it reads its script's name, waits, spawns and exits as the real one does"
)]

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use harness_fake_kubectl::{Manner, Rule, SCRIPT, Script};
use serde_json::{Value, json};

/// The first argument of a process that does nothing but hold its standard streams.
const HOLD: &str = "hold";

/// Set for the child of a wrapped fake.
const WRAPPED: &str = "FAKE_KUBECTL_WRAPPED";

/// The longest life of a fake, so that a broken test leaves nothing behind.
const LONGEST_LIFE: Duration = Duration::from_mins(2);

fn main() -> io::Result<ExitCode> {
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST_LIFE);
        std::process::exit(99);
    });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == HOLD) {
        std::thread::sleep(LONGEST_LIFE);
    }
    let path = script_path()?;
    let script: Script = serde_json::from_slice(&fs::read(&path)?)?;
    run(&script, &path, &arguments)
}

fn script_path() -> io::Result<OsString> {
    if let Some(path) = std::env::var_os(SCRIPT) {
        return Ok(path);
    }
    let mut path = std::env::args_os().next().ok_or(io::ErrorKind::NotFound)?;
    path.push(".json");
    Ok(path)
}

fn run(script: &Script, path: &OsStr, arguments: &[String]) -> io::Result<ExitCode> {
    if script.wrapped && std::env::var_os(WRAPPED).is_none() {
        let mut inner = Command::new(std::env::current_exe()?);
        inner.args(arguments).env(WRAPPED, "1").env(SCRIPT, path).spawn()?.wait()?;
        return Ok(ExitCode::SUCCESS);
    }
    if script.ignore_term {
        let ignored = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGTERM, ignored)?;
    }
    let mut grandchild = None;
    if script.grandchild {
        grandchild = Some(Command::new(std::env::current_exe()?).arg(HOLD).spawn()?.id());
    }
    if let Some(path) = &script.record {
        record(path, arguments, grandchild)?;
    }
    io::stderr().write_all(script.stderr.as_bytes())?;
    flood(&mut io::stderr(), script.stderr_flood)?;
    io::stdout().write_all(script.stdout.as_bytes())?;
    io::stdout().flush()?;
    if let Some(code) = script.exit {
        return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)));
    }
    if script.never_ready {
        std::thread::sleep(LONGEST_LIFE);
    }
    serve(script, arguments)
}

fn record(path: &std::path::Path, arguments: &[String], grandchild: Option<u32>) -> io::Result<()> {
    let environment: Value = std::env::vars()
        .map(|(name, value)| (name, Value::from(value)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let document = json!({
        "arguments": arguments,
        "environment": environment,
        "process": std::process::id(),
        "parent": std::os::unix::process::parent_id(),
        "grandchild": grandchild,
        "stdin": fs::read_link("/proc/self/fd/0").ok(),
    });
    // Whole or not at all: the test waits for the file.
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, document.to_string())?;
    fs::rename(unfinished, path)
}

fn flood(writer: &mut impl Write, mut bytes: usize) -> io::Result<()> {
    let piece = [b'x'; 16 * 1024];
    while bytes > 0 {
        let count = bytes.min(piece.len());
        writer.write_all(&piece[..count])?;
        bytes -= count;
    }
    Ok(())
}

struct Server {
    rules: Mutex<Vec<Rule>>,
    requests: Option<Mutex<fs::File>>,
    answered: AtomicUsize,
    die_after: Option<usize>,
}

fn serve(script: &Script, arguments: &[String]) -> io::Result<ExitCode> {
    let socket = arguments
        .iter()
        .find_map(|argument| argument.strip_prefix("--unix-socket="))
        .ok_or(io::ErrorKind::InvalidInput)?;
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, fs::Permissions::from_mode(0o700))?;
    let requests = match &script.requests {
        Some(path) => Some(Mutex::new(OpenOptions::new().create(true).append(true).open(path)?)),
        None => None,
    };
    let server = Arc::new(Server {
        rules: Mutex::new(script.answers.clone()),
        requests,
        answered: AtomicUsize::new(0),
        die_after: script.die_after,
    });
    io::stdout().write_all(format!("Starting to serve on {socket}\n").as_bytes())?;
    io::stdout().flush()?;
    for connection in listener.incoming() {
        let server = Arc::clone(&server);
        let connection = connection?;
        // A connection that breaks is the client's affair.
        std::thread::spawn(move || server.converse(&connection).is_ok());
    }
    Ok(ExitCode::SUCCESS)
}

struct Asked {
    method: String,
    target: String,
}

impl Server {
    fn converse(&self, connection: &UnixStream) -> io::Result<()> {
        let mut reader = BufReader::new(connection);
        while let Some(asked) = self.read_request(&mut reader)? {
            let rule = self.rule_for(&asked);
            std::thread::sleep(Duration::from_millis(rule.delay));
            if !answer(connection, &rule)? {
                return Ok(());
            }
            let answered = self.answered.fetch_add(1, Ordering::SeqCst) + 1;
            if self.die_after.is_some_and(|limit| answered >= limit) {
                std::process::abort();
            }
        }
        Ok(())
    }

    fn read_request(&self, reader: &mut BufReader<&UnixStream>) -> io::Result<Option<Asked>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = serde_json::Map::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_ascii_lowercase(), Value::from(value));
        }
        let length = headers.get("content-length").and_then(Value::as_str).unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap_or(0)];
        reader.read_exact(&mut body)?;
        if let Some(file) = &self.requests {
            let document = json!({
                "method": method,
                "target": target,
                "headers": headers,
                "body": String::from_utf8_lossy(&body),
            });
            let mut file = file.lock().map_err(|_| io::ErrorKind::Other)?;
            file.write_all(format!("{document}\n").as_bytes())?;
        }
        Ok(Some(Asked { method, target }))
    }

    fn rule_for(&self, asked: &Asked) -> Rule {
        let missing = Rule {
            status: 501,
            content_type: "text/plain".to_owned(),
            body: Value::from(format!("no rule for {} {}", asked.method, asked.target)),
            ..Rule::default()
        };
        let Ok(mut rules) = self.rules.lock() else { return missing };
        let fits = |rule: &&mut Rule| {
            (rule.method.is_empty() || rule.method == asked.method)
                && asked.target.starts_with(&rule.path)
                && rule.times != Some(0)
        };
        match rules.iter_mut().find(fits) {
            Some(rule) => {
                rule.times = rule.times.map(|times| times - 1);
                rule.clone()
            }
            None => missing,
        }
    }
}

/// Gives the answer; says whether the connection goes on.
fn answer(mut connection: &UnixStream, rule: &Rule) -> io::Result<bool> {
    let mut body = match &rule.body {
        Value::Null => Vec::new(),
        Value::String(text) => text.clone().into_bytes(),
        json => json.to_string().into_bytes(),
    };
    match rule.manner {
        Manner::Hang => {
            std::thread::sleep(LONGEST_LIFE);
            return Ok(false);
        }
        Manner::Close => return Ok(false),
        Manner::Whole | Manner::Drip | Manner::Cut | Manner::Chunked => {}
    }
    body.resize(body.len() + rule.flood, b' ');
    connection.write_all(head(rule, body.len()).as_bytes())?;
    match rule.manner {
        Manner::Drip => {
            for byte in body {
                connection.write_all(&[byte])?;
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Manner::Cut => {
            connection.write_all(&body[..body.len() / 2])?;
            return Ok(false);
        }
        Manner::Chunked => {
            for piece in body.chunks(7) {
                connection.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
                connection.write_all(piece)?;
                connection.write_all(b"\r\n")?;
            }
            connection.write_all(b"0\r\n\r\n")?;
        }
        Manner::Whole | Manner::Hang | Manner::Close => connection.write_all(&body)?,
    }
    Ok(true)
}

fn head(rule: &Rule, length: usize) -> String {
    let status = if rule.status == 0 { 200 } else { rule.status };
    let content_type = match rule.content_type.as_str() {
        "" => "Content-Type: application/json\r\n".to_owned(),
        "-" => String::new(),
        other => format!("Content-Type: {other}\r\n"),
    };
    let more: String =
        rule.headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let framing = match rule.manner {
        Manner::Chunked => "Transfer-Encoding: chunked".to_owned(),
        _ => format!("Content-Length: {length}"),
    };
    format!("HTTP/1.1 {status} Scripted\r\n{content_type}{more}{framing}\r\n\r\n")
}
