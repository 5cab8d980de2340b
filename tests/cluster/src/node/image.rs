//! Images without a container engine: a folder is packed by `tar`, and crane makes an image of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Node;
use super::python::Python;
use super::settings::{REGISTRY, REGISTRY_PORT};
use crate::wait;

/// Programs of busybox that a shell script usually wants; all others are `busybox NAME`.
const APPLETS: [&str; 53] = [
    "awk",
    "basename",
    "cat",
    "chmod",
    "cp",
    "cut",
    "date",
    "dd",
    "dirname",
    "echo",
    "env",
    "expr",
    "false",
    "find",
    "grep",
    "gzip",
    "head",
    "id",
    "kill",
    "ln",
    "ls",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mv",
    "nc",
    "od",
    "printf",
    "ps",
    "rm",
    "rmdir",
    "sed",
    "seq",
    "setsid",
    "sh",
    "sha256sum",
    "sleep",
    "sort",
    "stat",
    "tail",
    "tar",
    "tee",
    "test",
    "timeout",
    "touch",
    "tr",
    "true",
    "uname",
    "wc",
    "wget",
    "xargs",
    "yes",
];

/// An image in the node's registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What a pod names: `registry.test/NAME@sha256:...`.
    pub reference: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    name: String,
}

/// An image that is being put together; nothing is in it but what is put there.
#[derive(Debug)]
pub struct ImageBuilder<'node> {
    node: &'node Node,
    name: String,
    tag: String,
    platform: String,
    base: Option<Image>,
    root: PathBuf,
    arguments: Vec<String>,
}

impl Image {
    /// The same image by another name of the registry, such as that of a [`SlowRegistry`](super::SlowRegistry).
    #[must_use]
    pub fn at(&self, host: &str) -> String {
        format!("{host}/{}@{}", self.name, self.digest)
    }
}

impl<'node> ImageBuilder<'node> {
    pub(super) fn new(node: &'node Node, name: &str) -> Self {
        let root = node.state().join(format!("image-{}", wait::random_name()));
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            node,
            name: name.to_owned(),
            tag: "latest".to_owned(),
            platform: format!("linux/{architecture}"),
            base: None,
            root,
            arguments: Vec::new(),
        }
    }

    /// Puts a file of this machine at a path, readable and executable by all.
    pub fn copy(self, path: &str, from: &Path) -> Result<Self> {
        let bytes = fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
        self.file(path, bytes, 0o755)
    }

    /// Writes a file.
    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>, mode: u32) -> Result<Self> {
        let target = self.target(path)?;
        fs::write(&target, bytes)?;
        fs::set_permissions(target, Permissions::from_mode(mode))?;
        Ok(self)
    }

    /// Makes an empty folder.
    pub fn folder(self, path: &str, mode: u32) -> Result<Self> {
        let target = self.target(path)?;
        fs::create_dir_all(&target)?;
        fs::set_permissions(target, Permissions::from_mode(mode))?;
        Ok(self)
    }

    /// Makes a symbolic link.
    pub fn link(self, path: &str, to: &str) -> Result<Self> {
        symlink(to, self.target(path)?)?;
        Ok(self)
    }

    /// Adds a shell and the usual small programs (busybox) in `/bin`, and `/tmp`.
    pub fn shell(self) -> Result<Self> {
        let busybox = super::program_path("busybox")?;
        let this = self.copy("bin/busybox", &busybox)?.folder("tmp", 0o1777)?;
        APPLETS.iter().try_fold(this, |this, name| this.link(&format!("bin/{name}"), "busybox"))
    }

    /// Adds this machine's Python with its standard library, as `/bin/python3` and at its own place.
    pub fn python(self) -> Result<Self> {
        let python = Python::find()?;
        let program = python.program.display().to_string();
        let all = python.files.iter().chain([&python.program]);
        let this = all.into_iter().try_fold(self, |this, file| {
            let path = file.to_str().context("a path of Python is not text")?;
            this.copy(path, file)
        })?;
        if program == "/bin/python3" { Ok(this) } else { this.link("bin/python3", &program) }
    }

    /// Adds `/bin/socket`: `socket listen PATH` prints what one `socket connect PATH TEXT` sends.
    pub fn socket_tool(self) -> Result<Self> {
        let program = self.node.programs.path("socket");
        self.copy("bin/socket", &program)
    }

    /// Begins with another image's files and settings.
    #[must_use]
    pub fn base(mut self, base: &Image) -> Self {
        self.base = Some(base.clone());
        self
    }

    /// The program that starts, with its first arguments.
    #[must_use]
    pub fn entrypoint(self, argv: &[&str]) -> Self {
        self.list("--entrypoint", argv)
    }

    /// Arguments that a pod may replace.
    #[must_use]
    pub fn command(self, arguments: &[&str]) -> Self {
        self.list("--cmd", arguments)
    }

    /// An environment variable.
    #[must_use]
    pub fn env(self, name: &str, value: &str) -> Self {
        self.argument("--env", format!("{name}={value}"))
    }

    /// A label.
    #[must_use]
    pub fn label(self, name: &str, value: &str) -> Self {
        self.argument("--label", format!("{name}={value}"))
    }

    /// The user, by name or number, that a pod may replace.
    #[must_use]
    pub fn user(self, user: &str) -> Self {
        self.argument("--user", user.to_owned())
    }

    /// The folder that the program starts in.
    #[must_use]
    pub fn working_directory(self, path: &str) -> Self {
        self.argument("--workdir", path.to_owned())
    }

    /// Another platform than this machine's, such as `linux/s390x`.
    #[must_use]
    pub fn platform(mut self, platform: &str) -> Self {
        platform.clone_into(&mut self.platform);
        self
    }

    /// A tag, for what does not pull by digest.
    #[must_use]
    pub fn tag(mut self, tag: &str) -> Self {
        tag.clone_into(&mut self.tag);
        self
    }

    /// As [`push`](Self::push), and gives an index of images for several platforms with this one only.
    pub fn push_index(self) -> Result<Image> {
        let (node, tag) = (self.node, self.tag.clone());
        let image = self.push()?;
        let target = format!("127.0.0.1:{REGISTRY_PORT}/{}:{tag}", image.name);
        let mut index = crane(node);
        index.args(["index", "append", "--manifest", &image.local(), "--tag", &target]);
        image.with_digest(&run(&mut index)?)
    }

    /// Makes the image and pushes it. The same content has the same digest.
    pub fn push(self) -> Result<Image> {
        self.node.enter()?;
        fs::create_dir_all(&self.root)?;
        let layer = self.root.with_extension("tar");
        pack(&self.root, &layer)?;
        let repository = format!("127.0.0.1:{REGISTRY_PORT}/{}", self.name);
        let target = format!("{repository}:{}", self.tag);
        let mut append = crane(self.node);
        append.args(["append", "--new_tag", &target, "--new_layer"]).arg(&layer);
        match &self.base {
            Some(base) => append.args(["--base", &base.local()]),
            None => append.arg("--oci-empty-base"),
        };
        let appended = run(&mut append)?;
        let mut mutate = crane(self.node);
        mutate.args(["mutate", &appended, "--tag", &target, "--set-platform", &self.platform]);
        mutate.args(&self.arguments);
        let mutated = run(&mut mutate)?;
        fs::remove_dir_all(&self.root)?;
        fs::remove_file(layer)?;
        let unnamed = Image { reference: String::new(), digest: String::new(), name: self.name };
        unnamed.with_digest(&mutated)
    }

    fn target(&self, path: &str) -> Result<PathBuf> {
        let target = self.root.join(path.trim_start_matches('/'));
        let parent = target.parent().context("a path in an image has a parent")?;
        fs::create_dir_all(parent)?;
        Ok(target)
    }

    fn list(mut self, flag: &str, items: &[&str]) -> Self {
        // One line of CSV: that is how crane takes lists.
        let quoted = items.iter().map(|item| format!("\"{}\"", item.replace('"', "\"\"")));
        self.arguments.push(format!("{flag}={}", quoted.collect::<Vec<_>>().join(",")));
        self
    }

    fn argument(mut self, flag: &str, value: String) -> Self {
        self.arguments.extend([flag.to_owned(), value]);
        self
    }
}

impl Image {
    /// Of the same name, with the digest that stands at the end of what crane told.
    fn with_digest(self, told: &str) -> Result<Self> {
        let (_, digest) = told.rsplit_once('@').context("crane told no digest")?;
        let reference = format!("{REGISTRY}/{}@{digest}", self.name);
        Ok(Self { reference, digest: digest.to_owned(), name: self.name })
    }

    /// Where crane finds it.
    fn local(&self) -> String {
        format!("127.0.0.1:{REGISTRY_PORT}/{}@{}", self.name, self.digest)
    }
}

/// crane with nobody's credentials and no proxy: the registry is on loopback.
fn crane(node: &Node) -> Command {
    let mut crane = Command::new(node.crane());
    crane.env_clear().env("HOME", node.state()).arg("--insecure");
    crane
}

/// Packs a folder; owners, times and order are always the same.
fn pack(folder: &Path, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("--directory").arg(folder).arg("--create").arg("--file").arg(archive).args([
        "--sort=name",
        "--mtime=@0",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=pax",
        "--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
        ".",
    ]);
    run(&mut tar).map(drop)
}

/// Runs a command to its end and gives what it printed.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?} could not be started"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
