//! Why there is no connection to the cluster. Nothing has been asked of the API server then.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why [`Connection::open`](super::Connection::open) failed.
///
/// `stderr` is the end of what kubectl said: text that is not ours, neutralised by whoever prints it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// An option cannot be given to kubectl.
    #[error("{option} is {found}; {allowed}")]
    InvalidOption {
        /// The option, such as `--context`.
        option: &'static str,
        /// What was given.
        found: String,
        /// What is allowed.
        allowed: &'static str,
    },

    /// `--in-cluster` without a service account.
    #[error(
        "there is no service account token at {}; `--in-cluster` works only inside a pod that has one, \
         everywhere else name a context with `--context`",
        token.display()
    )]
    NotInCluster {
        /// Where the token was looked for.
        token: PathBuf,
    },

    /// No folder could be made for the socket.
    #[error("no folder for the private socket: {}; set TMPDIR to a short path that can be written", tried.join("; "))]
    NoFolder {
        /// Every folder that was tried, and why it was not taken.
        tried: Vec<String>,
    },

    /// The guard process did not start.
    #[error("cannot start the guard process {}", program.display())]
    Guard {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// There is no such kubectl.
    #[error(
        "there is no `{}`; install kubectl (https://kubernetes.io/docs/tasks/tools/) or name it with `--kubectl`",
        program.display()
    )]
    KubectlNotFound {
        /// The program.
        program: PathBuf,
    },

    /// kubectl is there and cannot be started.
    #[error("cannot start `{}`", program.display())]
    KubectlNotStarted {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },

    /// The kubeconfig has no such context.
    #[error(
        "the kubeconfig has no context {context:?}; `kubectl config get-contexts` lists those it has"
    )]
    NoSuchContext {
        /// The context that was asked for.
        context: String,
    },

    /// kubectl ended before it served.
    #[error("`{command}` ended before it was ready ({ended}){}", said(stderr))]
    EndedEarly {
        /// The command line, shortened.
        command: String,
        /// How it ended, such as `exit status 1`.
        ended: String,
        /// The end of its standard error.
        stderr: String,
    },

    /// kubectl did not serve in time.
    #[error("`{command}` was not ready within {} s{}", allowed.as_secs_f64(), said(stderr))]
    NotReady {
        /// The command line, shortened.
        command: String,
        /// The time allowed.
        allowed: Duration,
        /// The end of its standard error.
        stderr: String,
    },

    /// Nobody waits for it any more.
    #[error("stopped before kubectl was ready")]
    Stopped,

    /// The operating system gave no socket, pipe or thread.
    #[error("cannot set up the connection to kubectl")]
    System {
        /// Why not.
        #[from]
        source: io::Error,
    },
}

impl ConnectError {
    /// Whether the command line or the machine has to change before the same command can work.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::InvalidOption { .. }
            | Self::NotInCluster { .. }
            | Self::NoFolder { .. }
            | Self::KubectlNotFound { .. }
            | Self::KubectlNotStarted { .. }
            | Self::NoSuchContext { .. } => true,
            Self::Guard { .. }
            | Self::EndedEarly { .. }
            | Self::NotReady { .. }
            | Self::Stopped
            | Self::System { .. } => false,
        }
    }
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => "; it said nothing".to_owned(),
        text => format!("; it said:\n{text}"),
    }
}
