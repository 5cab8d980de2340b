//! A pod's folders, a stand-in for `publish`, and runs of the binary between them.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use harness::clock::{Clock as _, SystemClock};
use harness::execution::control::{FromPublish, FromRun, SOCKET_NAME, from_line, to_line};
use harness::execution::{Ending, Places, Reason, RunReport};
use tempfile::TempDir;

/// What the stand-in for `publish` does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Publish {
    /// What it should.
    Goes,
    /// Says no.
    Refuses(&'static str),
    /// Ends after its go, when this file is there.
    Dies(&'static str),
    /// Ends before it answers.
    IsMute,
}

/// What `publish` would know.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The command of `hello`.
    pub(crate) command: Option<Vec<String>>,
    /// The report of `finished`.
    pub(crate) report: Option<RunReport>,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) reason: Option<Reason>,
    pub(crate) record: Record,
}

impl Ended {
    /// The report that `publish` got.
    #[track_caller]
    pub(crate) fn report(&self) -> &RunReport {
        self.record.report.as_ref().unwrap_or_else(|| panic!("no report: {self:?}"))
    }

    /// Checks ending and exit code.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, ending: &Ending) -> &RunReport {
        assert_eq!((self.code, &self.report().ending), (Some(code), ending), "{self:#?}");
        let reason = self.reason.as_ref().unwrap_or_else(|| panic!("no reason: {self:?}"));
        assert_eq!(i32::from(reason.category.exit_code()), code);
        self.report()
    }

    /// Checks the exit code of a run that started nothing, and that `publish` was told nothing.
    #[track_caller]
    pub(crate) fn expect_refusal(&self, code: i32, sentence: &str) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let reason = self.reason.as_ref().unwrap_or_else(|| panic!("no reason: {self:?}"));
        assert!(reason.sentence.contains(sentence), "{reason:?}");
        assert!(!reason.remedy.is_empty() && self.record.report.is_none(), "{self:#?}");
    }

    /// Standard output as text.
    pub(crate) fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// A pod's folders.
pub(crate) struct Pod {
    folder: TempDir,
    tools: Arc<TempDir>,
    pub(crate) places: Places,
    max_seconds: u32,
    output_size: &'static str,
    publish: Publish,
    is_contained: bool,
    environment: Vec<(&'static str, String)>,
    before: Option<String>,
}

impl Pod {
    /// Folders as the kubelet and `stage` leave them.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("run").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let places = Places::below(folder.path());
        for made in [places.snapshot(), places.control()] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(places.mission(), "{\"mission_id\": \"Mission 7\"}").unwrap();
        fs::write(places.snapshot().join("data"), "the data\n").unwrap();
        for made in [places.output(), places.scratch()] {
            fs::create_dir(&made).unwrap();
            fs::set_permissions(&made, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let message = folder.path().join("termination-log");
        fs::write(&message, "").unwrap();
        fs::set_permissions(&message, fs::Permissions::from_mode(0o666)).unwrap();
        Self {
            folder,
            tools: tools(),
            places,
            max_seconds: 60,
            output_size: "64Mi",
            publish: Publish::Goes,
            is_contained: false,
            environment: Vec::new(),
            before: None,
        }
    }

    /// As in a container: the first process, the pod's user, no capability.
    pub(crate) fn contained(mut self) -> Self {
        let is_root = rustix::process::getuid().is_root();
        assert!(is_root, "a namespace for the container's processes needs root");
        self.is_contained = true;
        self
    }

    /// With another budget.
    pub(crate) fn budget(mut self, seconds: u32) -> Self {
        self.max_seconds = seconds;
        self
    }

    /// With other sizes of output and scratch.
    pub(crate) fn size(mut self, quantity: &'static str) -> Self {
        self.output_size = quantity;
        self
    }

    /// With another `publish`.
    pub(crate) fn publish(mut self, publish: Publish) -> Self {
        self.publish = publish;
        self
    }

    /// With a variable of the image.
    pub(crate) fn image_variable(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// With a line of shell before everything, such as one that joins a control group.
    pub(crate) fn before(mut self, line: String) -> Self {
        self.before = Some(line);
        self
    }

    /// A file that the runner can be told of.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is in the output folder's file `name`.
    #[track_caller]
    pub(crate) fn output(&self, name: &str) -> String {
        fs::read_to_string(self.places.output().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Sets back the time at which the volumes were mounted.
    pub(crate) fn aged(self, seconds: u64) -> Self {
        for folder in [self.places.output(), self.places.scratch()] {
            let folder = File::open(folder).unwrap();
            let made = folder.metadata().unwrap().modified().unwrap();
            folder.set_modified(made - Duration::from_secs(seconds)).unwrap();
        }
        self
    }

    /// Runs a shell script.
    pub(crate) fn shell(&self, script: &str) -> Ended {
        self.run(&["sh", "-c", script])
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        let started = self.start(words);
        let Started { child, publish } = started;
        let output = child.wait_with_output().unwrap();
        self.ended(output.status.code(), output.stdout, &output.stderr, publish)
    }

    fn ended(
        &self,
        code: Option<i32>,
        stdout: Vec<u8>,
        stderr: &[u8],
        publish: JoinHandle<Record>,
    ) -> Ended {
        // A run that never connected leaves the stand-in waiting: this wakes it.
        drop(UnixStream::connect(self.places.control().join(SOCKET_NAME)));
        let message = fs::read_to_string(self.path("termination-log")).unwrap();
        Ended {
            code,
            stdout,
            stderr: String::from_utf8_lossy(stderr).into_owned(),
            reason: Reason::parse(&message),
            record: publish.join().unwrap(),
        }
    }

    /// Starts a command, whose streams are pipes.
    pub(crate) fn start(&self, words: &[&str]) -> Started {
        let listener = UnixListener::bind(self.places.control().join(SOCKET_NAME)).unwrap();
        let socket = fs::Permissions::from_mode(0o777);
        fs::set_permissions(self.places.control().join(SOCKET_NAME), socket).unwrap();
        let (behaviour, folder) = (self.publish, self.places.output());
        let publish = std::thread::spawn(move || stand_in(&listener, behaviour, &folder));
        let child = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Started { child: child.unwrap(), publish }
    }

    /// Waits for a command that was started, reading nothing of it before it has ended.
    pub(crate) fn finish(&self, started: Started) -> Ended {
        let Started { mut child, publish } = started;
        let status = child.wait().unwrap();
        self.ended(status.code(), Vec::new(), b"", publish)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut all: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| all.extend(words.iter().map(|word| (*word).to_owned()));
        if let Some(line) = &self.before {
            add(&["sh", "-c", &format!("{line}; exec \"$@\""), "sh"]);
        }
        if self.is_contained {
            add(&["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "setpriv"]);
            add(&["--reuid=65532", "--regid=65532", "--clear-groups", "--inh-caps=-all"]);
            add(&["--bounding-set=-all", "--no-new-privs"]);
        }
        let binary = self.tools.path().join("harness");
        add(&[binary.to_str().unwrap(), "prediction", "run"]);
        let seconds = u64::from(self.max_seconds);
        add(&[&format!("--max-seconds={seconds}"), "--publication=30"]);
        add(&[&format!("--pod-deadline={}", seconds + 90)]);
        let size = self.output_size;
        add(&[&format!("--output-size={size}"), &format!("--scratch-size={size}")]);
        add(&["--root", self.folder.path().to_str().unwrap(), "--termination-log"]);
        add(&[self.path("termination-log").to_str().unwrap()]);
        if !words.is_empty() {
            add(&["--"]);
            add(words);
        }
        let mut command = command(&all[0]);
        command.args(&all[1..]).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A run under way.
pub(crate) struct Started {
    /// The process.
    pub(crate) child: Child,
    publish: JoinHandle<Record>,
}

impl Started {
    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

/// Time that has passed since a moment of the boot-time clock.
pub(crate) fn since(begun: Duration) -> Duration {
    SystemClock.boottime().saturating_sub(begun)
}

/// Waits for a file that a runner writes.
#[track_caller]
pub(crate) fn wait_for(file: &Path) {
    for _ in 0..1000 {
        if file.exists() {
            return;
        }
        SystemClock.sleep(Duration::from_millis(20));
    }
    panic!("{} never came", file.display());
}

/// The binary where the pod's user can execute it, as `stage` would put it: shared by the pods of a moment, and removed
/// with the last of them.
fn tools() -> Arc<TempDir> {
    static SHARED: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let folder = tempfile::Builder::new().prefix("tools").tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_harness"), folder.path().join("harness")).unwrap();
        let folder = Arc::new(folder);
        *shared = Arc::downgrade(&folder);
        folder
    })
}

#[expect(clippy::disallowed_methods, reason = "tests start the programs that they test")]
pub(crate) fn command(program: &str) -> Command {
    Command::new(program)
}

fn stand_in(listener: &UnixListener, behaviour: Publish, output: &Path) -> Record {
    let mut record = Record::default();
    let (mut stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut line = Vec::new();
    let mut next = || {
        line.clear();
        // A broken connection is the end as well.
        let _ = lines.read_until(b'\n', &mut line);
        from_line::<FromRun>(line.strip_suffix(b"\n").unwrap_or(&line))
    };
    let Some(FromRun::Hello { command, harness_version }) = next() else {
        return record;
    };
    assert_eq!(harness_version, env!("CARGO_PKG_VERSION"));
    record.command = Some(command);
    match behaviour {
        Publish::IsMute => return record,
        Publish::Refuses(cause) => {
            let refused = FromPublish::Refused { cause: cause.to_owned() };
            stream.write_all(to_line(&refused).as_bytes()).unwrap();
            return record;
        }
        Publish::Goes | Publish::Dies(_) => {
            stream.write_all(to_line(&FromPublish::Go {}).as_bytes()).unwrap();
        }
    }
    if let Publish::Dies(file) = behaviour {
        wait_for(&output.join(file));
        return record;
    }
    if let Some(FromRun::Finished { report }) = next() {
        record.report = Some(report);
    }
    assert_eq!(next(), None, "`finished` is the last word");
    record
}

/// Whether any process of this machine has `mark` among its arguments.
pub(crate) fn is_running(mark: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(mark)
            && entry.file_name().to_str() != Some(&std::process::id().to_string())
    })
}
