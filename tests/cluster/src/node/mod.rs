//! A real node beside the control plane: kubelet, containerd, runc, a network for pods and a registry.
//!
//! All of it, the control plane included, is in a network of its own, and containers, kubelet and containerd in
//! process and mount namespaces of their own as well. So nothing of it clashes with the machine's own programs,
//! nothing reaches the internet, and it all ends with one process: when the supervisor kills the first one in the
//! process namespace, the kernel ends every container and drops every mount.

mod cgroups;
mod container;
mod image;
mod names;
mod python;
mod relay;
mod requirements;
mod settings;
mod slow;

use std::fs;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{env, path};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Pid;

pub use container::Container;
pub use image::{Image, ImageBuilder};
pub use names::Names;
pub use relay::Relay;
pub(crate) use requirements::path as program_path;
pub use settings::REGISTRY;
pub use slow::SlowRegistry;

use self::cgroups::Groups;
use self::settings::{KUBELET_HEALTH_PORT, Layout, PAUSE};
use crate::build::Programs;
use crate::components::Options;
use crate::control_plane::ControlPlane;
use crate::credentials::NODE;
use crate::kubeconfig::Kubeconfig;
use crate::network::{API_SERVICE, API_SERVICE_PORT};
use crate::supervisor::{SCRIPT, Supervisor, log_tail};
use crate::wait;

/// How long a part may take until it is ready, on a loaded machine.
const READY: Duration = Duration::from_mins(3);

/// A running node with its control plane; dropping it ends both and removes their state.
///
/// A thread reaches the servers of a node only after [`enter`](Self::enter); [`node`] does that for its caller,
/// and threads and processes that a thread starts afterwards are in the network from the beginning.
#[derive(Debug)]
pub struct Node {
    // Before the control plane, whose end ends everything.
    inside: Mutex<Supervisor>,
    control_plane: ControlPlane,
    programs: Programs,
    layout: Layout,
    groups: Groups,
    /// The first process of the node.
    first: Pid,
}

/// The node that all tests of this process share, started by the first call; the calling thread enters its network.
///
/// A test that stops a part of it starts its own with [`Node::start`].
///
/// # Panics
///
/// When it cannot be started, in every test that asks for it.
#[track_caller]
pub fn node() -> &'static Node {
    static SHARED: OnceLock<Result<Node, String>> = OnceLock::new();
    let start = || Node::start().map_err(|error| format!("{error:#}"));
    let entered = match SHARED.get_or_init(start) {
        Ok(node) => node.enter().map(|()| node).map_err(|error| format!("{error:#}")),
        Err(error) => Err(error.clone()),
    };
    match entered {
        Ok(node) => node,
        Err(error) => panic!("no node could be started: {error}"),
    }
}

impl Node {
    /// Starts a node, in about ten seconds; the very first one builds its programs, in minutes.
    ///
    /// The calling thread is in its network afterwards. Fails with everything that the machine lacks, or with the
    /// end of the log of the part that did not become ready.
    pub fn start() -> Result<Self> {
        let state = format!("harness-test-node-{}", wait::random_name());
        Self::start_in(&env::temp_dir().join(state))
    }

    /// As [`start`](Self::start), with all state in a folder that must not exist yet.
    pub fn start_in(state: &Path) -> Result<Self> {
        let state = path::absolute(state)?;
        requirements::check()?;
        requirements::check_place(&state)?;
        let programs = Programs::obtain_for_node()?;
        let options = Options {
            // By its name, which nobody knows, the API server would look for the kubelet in vain.
            api_server_arguments: vec!["--kubelet-preferred-address-types=InternalIP".to_owned()],
            ..Options::default()
        };
        let control_plane = ControlPlane::start_isolated(&options, &state)?;
        let layout = Layout { state };
        let groups = prepare(&layout, &control_plane, &programs)?;
        let (inside, first) = start_first_process(&layout, &control_plane)?;
        let inside = Mutex::new(inside);
        let this = Self { inside, control_plane, programs, layout, groups, first };
        this.start_registry()?;
        this.control_plane
            .start_part("kube-scheduler", &this.layout.scheduler_argv(&this.programs))?;
        this.start_containerd()?;
        this.start_kubelet()?;
        Ok(this)
    }

    /// Moves the calling thread into the node's network: its later connections, listeners, threads and processes.
    pub fn enter(&self) -> Result<()> {
        self.control_plane.isolated.as_ref().context("the control plane is not isolated")?.enter()
    }

    /// The control plane: namespaces, users, requests as the administrator, kubectl and its kubeconfig.
    pub fn cluster(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The folder of everything; logs of kubelet and containerd are in `node/`.
    pub fn state(&self) -> &Path {
        &self.layout.state
    }

    /// The node's control group in each hierarchy of the machine.
    pub fn control_groups(&self) -> &[PathBuf] {
        &self.groups.folders
    }

    /// The first process of the node, as the caller sees it; with it all others end.
    pub fn first_process(&self) -> Pid {
        self.first
    }

    /// A command that runs among the node's own processes and mounts, where the kubelet and containerd are.
    ///
    /// Only for looking behind the scenes: after [`enter`](Self::enter), every command is in the node's network.
    pub fn inside(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--target={}", self.first.as_raw_nonzero()))
            .args(["--mount", "--pid", "--net", "--"])
            .arg(program);
        command
    }

    /// What a container has written so far, through the API server and the kubelet, as `kubectl logs` gets it.
    pub fn logs(&self, namespace: &str, pod: &str, container: &str) -> Result<Vec<u8>> {
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}");
        self.control_plane.admin.bytes(&path)
    }

    /// A container that runs, or has run last, in a pod.
    pub fn container(&self, namespace: &str, pod: &str, name: &str) -> Result<Container<'_>> {
        Container::find(self, namespace, pod, name)
    }

    /// The program that makes, reads and pushes images.
    pub fn crane(&self) -> PathBuf {
        self.programs.path("crane")
    }

    /// Where images are pushed to from the node's network; pods know it as [`REGISTRY`].
    pub fn registry_address(&self) -> String {
        format!("127.0.0.1:{}", settings::REGISTRY_PORT)
    }

    /// An image to be made and pushed to the node's registry.
    pub fn image(&self, name: &str) -> ImageBuilder<'_> {
        ImageBuilder::new(self, name)
    }

    /// Kills the kubelet; containers go on.
    pub fn stop_kubelet(&self) -> Result<()> {
        self.stop("kubelet")
    }

    /// Starts it again and waits until it is well.
    pub fn start_kubelet(&self) -> Result<()> {
        let argv = self.layout.kubelet_argv(&self.programs);
        self.start_inside("kubelet", &argv, || {
            TcpStream::connect(("127.0.0.1", KUBELET_HEALTH_PORT)).is_ok() && self.is_ready()
        })
    }

    /// Kills the kubelet and starts it again.
    pub fn restart_kubelet(&self) -> Result<()> {
        self.stop_kubelet()?;
        self.start_kubelet()
    }

    /// Kills containerd; containers and their shims go on.
    pub fn stop_containerd(&self) -> Result<()> {
        self.stop("containerd")
    }

    /// Starts it again and waits until it listens.
    pub fn start_containerd(&self) -> Result<()> {
        let argv = self.layout.containerd_argv(&self.programs);
        let socket = self.layout.containerd_socket();
        self.start_inside("containerd", &argv, || UnixStream::connect(&socket).is_ok())
    }

    /// Ends the node's registry: no image can be pulled that is not there already.
    pub fn stop_registry(&self) -> Result<()> {
        self.control_plane.end_part("registry")
    }

    /// Starts it, again with all images that were pushed.
    pub fn start_registry(&self) -> Result<()> {
        self.control_plane.start_part("registry", &self.layout.registry_argv(&self.programs))?;
        let listens = || TcpStream::connect(("127.0.0.1", settings::REGISTRY_PORT)).is_ok();
        if !wait::until(READY, listens) {
            bail!("the registry did not listen; {}", log_tail(self.state(), "registry"));
        }
        let pause = self.programs.path("pause");
        self.image(PAUSE).copy("pause", &pause)?.entrypoint(&["/pause"]).tag("1").push().map(drop)
    }

    /// Lets pods pull from `host`, which really is at `url`; for registries that a test serves itself.
    pub fn add_registry(&self, host: &str, url: &str) -> Result<()> {
        self.layout.add_registry(host, url)
    }

    /// The node's registry under another name, where each connection waits so long before it is served.
    pub fn slow_registry(&self, host: &str, delay: Duration) -> Result<SlowRegistry> {
        SlowRegistry::start(self, host, delay)
    }

    /// Lets pods find every name below `.test` at [`ADDRESS`](crate::ADDRESS), until the result is dropped.
    pub fn serve_names(&self) -> Result<Names> {
        Names::serve(self)
    }

    /// Lets pods reach the API server at its service's address, as kube-proxy does, until the result is dropped.
    pub fn serve_api_server(&self) -> Result<Relay> {
        let address = (API_SERVICE, API_SERVICE_PORT).into();
        Relay::start(self, address, self.control_plane.api_server(), Duration::ZERO)
    }

    /// Lets the node run on after this process, until [`end_detached`](crate::end_detached) is called with its folder.
    pub fn detach(self) -> Result<()> {
        self.control_plane.detach()
    }

    fn is_ready(&self) -> bool {
        let path = format!("/api/v1/nodes/{NODE}");
        let Ok((200, node)) = self.control_plane.admin("GET", &path, None) else { return false };
        let conditions = node["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|one| one["type"] == "Ready" && one["status"] == "True")
    }

    fn start_inside(&self, name: &str, argv: &[String], ready: impl FnMut() -> bool) -> Result<()> {
        self.lock().start_part(name, argv)?;
        if wait::until(READY, ready) {
            return Ok(());
        }
        let log = log_tail(&self.layout.path("node"), name);
        bail!("{name} was not ready after {} s; {log}", READY.as_secs())
    }

    fn stop(&self, name: &str) -> Result<()> {
        self.lock().end_part(name).map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Supervisor> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes all files and creates the control groups.
fn prepare(layout: &Layout, control_plane: &ControlPlane, programs: &Programs) -> Result<Groups> {
    let name = layout.state.file_name().context("the state folder has no name")?;
    let groups = Groups::plan(&format!("{}-{}", name.to_string_lossy(), wait::random_name()))?;
    let list = groups.folders.iter().map(|folder| format!("{}\n", folder.display()));
    // Before the groups, so that they are removed however far this gets.
    fs::write(layout.path("cgroups"), list.collect::<String>())?;
    fs::write(layout.path("cleanup.sh"), include_str!("cleanup.sh"))?;
    groups.create()?;
    fs::write(layout.path("init.sh"), include_str!("init.sh"))?;
    fs::write(layout.path("supervisor.sh"), SCRIPT)?;
    layout.write(programs, &groups.name)?;
    for (file, token) in [
        ("kubelet.kubeconfig", &control_plane.credentials.kubelet_token),
        ("scheduler.kubeconfig", &control_plane.credentials.scheduler_token),
    ] {
        let context = control_plane.context_for(token);
        Kubeconfig::create_for_component(layout.path(file), context)?;
    }
    Ok(groups)
}

/// Starts the first process of the node and gives a way to order it about.
fn start_first_process(layout: &Layout, control_plane: &ControlPlane) -> Result<(Supervisor, Pid)> {
    let (orders, answers) = (layout.path("node.orders"), layout.path("node.answers"));
    for fifo in [&orders, &answers] {
        mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    }
    let parent = control_plane.start_part("node", &layout.node_argv()?)?;
    let inside = Supervisor::at(&layout.path("node"), &orders, &answers)
        .with_context(|| format!("the node did not begin; {}", log_tail(&layout.state, "node")))?;
    let first = child_of(parent).context("the first process of the node cannot be found")?;
    Ok((inside, first))
}

/// The only child of a process.
fn child_of(parent: Pid) -> Option<Pid> {
    let line = format!("PPid:\t{}", parent.as_raw_nonzero());
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut numbers =
        processes.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
    let is_child = |number: &i32| {
        fs::read_to_string(format!("/proc/{number}/status"))
            .is_ok_and(|status| status.lines().any(|one| one == line))
    };
    numbers.find(is_child).and_then(Pid::from_raw)
}
