//! One control plane: started, used, hurt and ended by a test.

use std::collections::BTreeMap;
use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{self, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::admin::Admin;
use crate::build::Programs;
use crate::components::{Component, Options, Ports, argv, controller_manager_kubeconfig};
use crate::credentials::Credentials;
use crate::kubeconfig::{ADMIN_CONTEXT, Authority, Context, Kubeconfig};
use crate::network::Isolated;
use crate::supervisor::{Environment, Network, Supervisor, is_running, log_tail};
use crate::upstream::Upstream;
use crate::wait;

/// How long a component may take until it is ready; a loaded machine needs far more than the usual 3 s.
const READY: Duration = Duration::from_secs(90);
/// How often a start is tried when another process takes a chosen port first.
const ATTEMPTS: u32 = 3;

/// A running control plane on 127.0.0.1; dropping it ends it and removes its state.
///
/// All methods may be called by several tests at a time.
#[derive(Debug)]
pub struct ControlPlane {
    programs: Programs,
    state: PathBuf,
    ports: Ports,
    /// None in the network of this process.
    pub(crate) isolated: Option<Isolated>,
    options: Options,
    kubectl: PathBuf,
    kubeconfig_path: PathBuf,
    pub(crate) credentials: Credentials,
    pub(crate) admin: Admin,
    pub(crate) changing: Mutex<Changing>,
}

/// What changes while the control plane runs.
#[derive(Debug)]
pub(crate) struct Changing {
    supervisor: Supervisor,
    running: BTreeMap<Component, Pid>,
    pub(crate) kubeconfig: Kubeconfig,
    /// How many users and files were handed out.
    pub(crate) users: usize,
    files: usize,
}

impl ControlPlane {
    /// Starts a control plane, in about three seconds; the very first one builds its programs, in minutes.
    ///
    /// Fails with the end of the log of the component that did not become ready.
    pub fn start(options: &Options) -> Result<Self> {
        let state = format!("harness-test-cluster-{}", wait::random_name());
        Self::start_in(options, &env::temp_dir().join(state))
    }

    /// As [`start`](Self::start), with all state in a folder that must not exist yet.
    pub fn start_in(options: &Options, state: &Path) -> Result<Self> {
        Self::start_at(options, state, Network::Host)
    }

    /// As [`start_in`](Self::start_in), in a network of its own, which the calling thread then is in too.
    pub(crate) fn start_isolated(options: &Options, state: &Path) -> Result<Self> {
        Self::start_at(options, state, Network::Own)
    }

    fn start_at(options: &Options, state: &Path, network: Network) -> Result<Self> {
        let state = &path::absolute(state)?;
        if state.exists() {
            bail!(
                "{} exists; name a new folder, since all in it is removed at the end",
                state.display()
            );
        }
        let programs = Programs::obtain()?;
        let mut attempt = 1;
        loop {
            match Self::try_start(&programs, options, state, network) {
                Err(error) if attempt < ATTEMPTS && lost_a_port(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_start(
        programs: &Programs,
        options: &Options,
        state: &Path,
        network: Network,
    ) -> Result<Self> {
        let supervisor = Supervisor::start(state, Environment::Clean, network)?;
        let isolated = match network {
            Network::Host => None,
            Network::Own => Some(Isolated::set_up(&supervisor)?),
        };
        let credentials = Credentials::create(state)?;
        let ports = Ports::choose()?;
        let context = |token: &str| Context {
            name: ADMIN_CONTEXT.to_owned(),
            server: ports.api_server_url(),
            authority: Some(credentials.authority.clone()),
            token: token.to_owned(),
        };
        let kubeconfig_path = state.join("kubeconfig");
        let kubeconfig =
            Kubeconfig::create(kubeconfig_path.clone(), context(&credentials.admin_token))?;
        Kubeconfig::create_for_component(
            controller_manager_kubeconfig(state),
            context(&credentials.controller_manager_token),
        )?;
        let upstream = Upstream::new(ports.api_server, &credentials.authority)?;
        let admin = Admin::new(upstream, credentials.admin_token.clone());
        let running = BTreeMap::new();
        let this = Self {
            kubectl: programs.path("kubectl"),
            programs: programs.clone(),
            state: state.to_owned(),
            ports,
            isolated,
            options: options.clone(),
            kubeconfig_path,
            credentials,
            admin,
            changing: Mutex::new(Changing { supervisor, running, kubeconfig, users: 0, files: 0 }),
        };
        for component in Component::ALL {
            this.start_component(component)?;
        }
        Ok(this)
    }

    /// The kubectl that was built with this control plane.
    pub fn kubectl(&self) -> &Path {
        &self.kubectl
    }

    /// The kubeconfig with the administrator's context, [`ADMIN_CONTEXT`], and those of all users.
    ///
    /// It has no current context.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig_path
    }

    /// The folder of logs (`NAME.log`), process ids (`NAME.pid`) and everything else.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Where the API server is: `https://127.0.0.1:PORT`.
    pub fn server_url(&self) -> String {
        self.ports.api_server_url()
    }

    pub(crate) fn api_server(&self) -> SocketAddr {
        self.ports.api_server()
    }

    /// The token of the administrator.
    pub fn admin_token(&self) -> &str {
        &self.credentials.admin_token
    }

    /// Writes a kubeconfig whose only context, [`ADMIN_CONTEXT`], leads to `server`: a fault proxy, a dead port.
    ///
    /// kubectl sends the token only to an `https` server.
    pub fn kubeconfig_with(
        &self,
        server: &str,
        token: &str,
        authority: Authority,
    ) -> Result<PathBuf> {
        let path = {
            let mut changing = self.changing();
            changing.files += 1;
            self.state.join(format!("kubeconfig-{}", changing.files))
        };
        let authority = match authority {
            Authority::Right => Some(self.credentials.authority.clone()),
            Authority::Wrong => Some(self.credentials.wrong_authority.clone()),
            Authority::None => None,
        };
        let name = ADMIN_CONTEXT.to_owned();
        let context =
            Context { name, server: server.to_owned(), authority, token: token.to_owned() };
        Kubeconfig::create(path.clone(), context)?;
        Ok(path)
    }

    /// Kills the API server; its state is in etcd.
    pub fn stop_api_server(&self) -> Result<()> {
        self.stop(Component::ApiServer)
    }

    /// Starts it again, at the same address, and waits until it is ready.
    pub fn start_api_server(&self) -> Result<()> {
        self.start_component(Component::ApiServer)
    }

    /// Kills the API server, starts it again and waits until it is ready.
    pub fn restart_api_server(&self) -> Result<()> {
        self.stop_api_server()?;
        self.start_api_server()
    }

    /// Kills etcd; what it has confirmed is in its files, whether or not they were synced to disk.
    pub fn stop_etcd(&self) -> Result<()> {
        self.stop(Component::Etcd)
    }

    /// Starts it again and waits until the API server, if it runs, is ready.
    pub fn start_etcd(&self) -> Result<()> {
        self.start_component(Component::Etcd)
    }

    /// Kills a component.
    pub fn stop(&self, component: Component) -> Result<()> {
        let mut changing = self.changing();
        changing.running.remove(&component);
        changing.supervisor.end_part(component.name())?;
        Ok(())
    }

    /// Starts a component that was stopped and waits until it is ready.
    pub fn start_component(&self, component: Component) -> Result<()> {
        let process = {
            let mut changing = self.changing();
            if changing.runs(component) {
                bail!("{} runs already", component.name());
            }
            let argv = argv(
                component,
                &self.programs,
                &self.state,
                self.ports,
                &self.credentials,
                &self.options,
            );
            let process = changing.supervisor.start_part(component.name(), &argv)?;
            changing.running.insert(component, process);
            process
        };
        let mut died = false;
        let ready = wait::until(READY, || {
            died = !is_running(process);
            died || self.is_ready(component)
        });
        if ready && !died {
            return Ok(());
        }
        let name = component.name();
        let what = if died {
            format!("{name} ended by itself")
        } else {
            format!("{name} was not ready after {} s", READY.as_secs())
        };
        let log = log_tail(&self.state, name);
        self.stop(component)?;
        bail!("{what}; {log}")
    }

    /// Stops a component in its tracks (SIGSTOP): its connections stay open and silent.
    pub fn pause(&self, component: Component) -> Result<()> {
        self.signal(component, Signal::STOP)
    }

    /// Lets a paused component go on.
    pub fn resume(&self, component: Component) -> Result<()> {
        self.signal(component, Signal::CONT)
    }

    /// Lets the control plane run on after this process, until [`end_detached`](crate::end_detached) is called with its folder.
    pub fn detach(self) -> Result<()> {
        let changing = self.changing.into_inner().unwrap_or_else(PoisonError::into_inner);
        changing.supervisor.detach()
    }

    /// Starts a program beside the components, to be ended with them; its output goes to `NAME.log`.
    pub(crate) fn start_part(&self, name: &str, argv: &[String]) -> Result<Pid> {
        self.changing().supervisor.start_part(name, argv)
    }

    /// Kills a program that [`start_part`](Self::start_part) has started.
    pub(crate) fn end_part(&self, name: &str) -> Result<()> {
        self.changing().supervisor.end_part(name).map(drop)
    }

    /// A context for a part, as the owner of this token.
    pub(crate) fn context_for(&self, token: &str) -> Context {
        Context {
            name: ADMIN_CONTEXT.to_owned(),
            server: self.server_url(),
            authority: Some(self.credentials.authority.clone()),
            token: token.to_owned(),
        }
    }

    pub(crate) fn upstream(&self) -> Result<Upstream> {
        Upstream::new(self.ports.api_server, &self.credentials.authority)
    }

    /// A test that has failed does not take the control plane away from the others.
    pub(crate) fn changing(&self) -> MutexGuard<'_, Changing> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, component: Component, signal: Signal) -> Result<()> {
        let changing = self.changing();
        let process = changing
            .running
            .get(&component)
            .with_context(|| format!("{} was stopped", component.name()))?;
        Ok(kill_process(*process, signal)?)
    }

    fn is_ready(&self, component: Component) -> bool {
        let ok = |path: &str| matches!(self.admin.send("GET", path, None), Ok((200, _)));
        match component {
            Component::Etcd => {
                let listens = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.etcd)).is_ok();
                let server_runs = self.changing().runs(Component::ApiServer);
                listens && (!server_runs || ok("/readyz"))
            }
            Component::ApiServer => ok("/readyz"),
            // Made by the controllers, and needed before the first pod can be.
            Component::ControllerManager => {
                ok("/api/v1/namespaces/default/serviceaccounts/default")
            }
        }
    }
}

impl Changing {
    pub(crate) fn runs(&self, component: Component) -> bool {
        self.running.contains_key(&component)
    }
}

fn lost_a_port(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
}
