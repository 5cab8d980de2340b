//! What is built, of which Go modules and with which flags; no I/O.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Programs that are built and kept together.
pub(crate) struct Recipe {
    /// What they are.
    title: &'static str,
    /// How many minutes a first build of them takes on two cores.
    pub(crate) minutes: u32,
    /// All modules that the programs are of.
    pub(crate) modules: &'static [&'static Module],
    /// The quickest first.
    pub(crate) programs: &'static [Program],
    /// What is kept beside the programs of the Go module that they are of: a name, and where it lies in there.
    pub(crate) manifests: Option<Manifests>,
}

/// Files of a Go module.
pub(crate) struct Manifests {
    /// The module that requires it.
    pub(crate) module: &'static Module,
    /// Its path.
    pub(crate) source: &'static str,
    /// Names in the cache, and folders in the module.
    pub(crate) folders: &'static [(&'static str, &'static str)],
}

/// A Go module whose files lie in this crate.
pub(crate) struct Module {
    /// The name of its folder while it is built.
    pub(crate) name: &'static str,
    /// Names and texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Build tags, separated by commas.
    tags: &'static str,
    /// Whether its programs carry the version of Kubernetes.
    stamped: bool,
}

/// A program and the Go package that it is built from.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) module: &'static Module,
    pub(crate) package: &'static str,
}

const fn program(name: &'static str, module: &'static Module, package: &'static str) -> Program {
    Program { name, module, package }
}

const GO_MOD: &str = include_str!("../go/go.mod");

static KUBERNETES: Module = Module {
    name: "kubernetes",
    files: &[("go.mod", GO_MOD), ("go.sum", include_str!("../go/go.sum"))],
    tags: "",
    stamped: true,
};
static CONTAINERD: Module = Module {
    name: "containerd",
    files: &[
        ("go.mod", include_str!("../go/containerd/go.mod")),
        ("go.sum", include_str!("../go/containerd/go.sum")),
    ],
    // Snapshotters that need C libraries.
    tags: "no_btrfs,no_devmapper,no_zfs",
    stamped: false,
};
static KUEUE: Module = Module {
    name: "kueue",
    files: &[
        ("go.mod", include_str!("../go/kueue/go.mod")),
        ("go.sum", include_str!("../go/kueue/go.sum")),
    ],
    tags: "",
    stamped: false,
};
static CRANE: Module = Module {
    name: "crane",
    files: &[
        ("go.mod", include_str!("../go/crane/go.mod")),
        ("go.sum", include_str!("../go/crane/go.sum")),
    ],
    tags: "",
    stamped: false,
};
static TOOLS: Module = Module {
    name: "tools",
    files: &[
        ("go.mod", include_str!("../go/tools/go.mod")),
        ("pause/main.go", include_str!("../go/tools/pause/main.go")),
        ("socket/main.go", include_str!("../go/tools/socket/main.go")),
    ],
    tags: "",
    stamped: false,
};

/// etcd, kubectl, the API server and the controllers.
pub(crate) static CONTROL_PLANE: Recipe = Recipe {
    title: "etcd, kubectl and Kubernetes {version}",
    minutes: 6,
    modules: &[&KUBERNETES],
    programs: &[
        program("etcd", &KUBERNETES, "go.etcd.io/etcd/server/v3"),
        program("kubectl", &KUBERNETES, "k8s.io/kubernetes/cmd/kubectl"),
        program("kube-apiserver", &KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver"),
        program(
            "kube-controller-manager",
            &KUBERNETES,
            "k8s.io/kubernetes/cmd/kube-controller-manager",
        ),
    ],
    manifests: None,
};

/// Kueue, with the definitions of its kinds and its webhooks.
pub(crate) static QUEUE: Recipe = Recipe {
    title: "Kueue",
    minutes: 3,
    modules: &[&KUEUE],
    programs: &[program("kueue", &KUEUE, "sigs.k8s.io/kueue/cmd/kueue")],
    manifests: Some(Manifests {
        module: &KUEUE,
        source: "sigs.k8s.io/kueue",
        folders: &[
            ("crd", "config/components/crd/bases"),
            ("webhook", "config/components/webhook"),
        ],
    }),
};

/// What turns a machine into a node, and what makes and serves its images.
pub(crate) static NODE: Recipe = Recipe {
    title: "crane, containerd and the kubelet of Kubernetes {version}",
    minutes: 4,
    modules: &[&TOOLS, &CRANE, &CONTAINERD, &KUBERNETES],
    programs: &[
        program("pause", &TOOLS, "harness.invalid/tools/pause"),
        program("socket", &TOOLS, "harness.invalid/tools/socket"),
        program("crane", &CRANE, "github.com/google/go-containerregistry/cmd/crane"),
        program(
            "host-local",
            &CONTAINERD,
            "github.com/containernetworking/plugins/plugins/ipam/host-local",
        ),
        program(
            "loopback",
            &CONTAINERD,
            "github.com/containernetworking/plugins/plugins/main/loopback",
        ),
        program(
            "bridge",
            &CONTAINERD,
            "github.com/containernetworking/plugins/plugins/main/bridge",
        ),
        program("ctr", &CONTAINERD, "github.com/containerd/containerd/v2/cmd/ctr"),
        program(
            "containerd-shim-runc-v2",
            &CONTAINERD,
            "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        ),
        program("containerd", &CONTAINERD, "github.com/containerd/containerd/v2/cmd/containerd"),
        program("kube-scheduler", &KUBERNETES, "k8s.io/kubernetes/cmd/kube-scheduler"),
        program("kubelet", &KUBERNETES, "k8s.io/kubernetes/cmd/kubelet"),
    ],
    manifests: None,
};

impl Recipe {
    /// What is built, for people.
    pub(crate) fn title(&self) -> String {
        self.title.replace("{version}", kubernetes_version())
    }

    /// A name that changes with everything that decides what is built.
    pub(crate) fn key(&self, go_version: &[u8]) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update(part);
            hash.update([0]);
        };
        add(go_version);
        for module in self.modules {
            module.files.iter().for_each(|(_, text)| add(text.as_bytes()));
            add(module.flags().join(" ").as_bytes());
        }
        for program in self.programs {
            add(program.name.as_bytes());
            add(program.package.as_bytes());
        }
        for (name, folder) in self.manifests.iter().flat_map(|manifests| manifests.folders) {
            add(name.as_bytes());
            add(folder.as_bytes());
        }
        hash.finalize()[..10].iter().fold(String::new(), |mut key, byte| {
            let _ = write!(key, "{byte:02x}");
            key
        })
    }
}

impl Module {
    /// Flags of `go build`; programs without the stamped version call themselves `v0.0.0-master`.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut link = "-s -w".to_owned();
        if self.stamped {
            let release = kubernetes_version();
            let mut numbers = release.split('.');
            let mut next = || numbers.next().unwrap_or_default();
            let version = "k8s.io/component-base/version";
            let _ = write!(
                link,
                " -X {version}.gitVersion=v{release} -X {version}.gitMajor={} -X {version}.gitMinor={}",
                next(),
                next()
            );
        }
        let mut flags =
            ["-trimpath", "-buildvcs=false", "-mod=readonly"].map(str::to_owned).to_vec();
        if !self.tags.is_empty() {
            flags.extend(["-tags".to_owned(), self.tags.to_owned()]);
        }
        flags.extend(["-ldflags".to_owned(), link]);
        flags
    }
}

/// The release that `go.mod` requires, such as `1.37.2`.
fn kubernetes_version() -> &'static str {
    let requirement = |line: &'static str| line.trim().strip_prefix("k8s.io/kubernetes v");
    let rest = GO_MOD.lines().find_map(requirement).expect("go.mod requires k8s.io/kubernetes");
    let length = rest.find(' ').unwrap_or(rest.len());
    &rest[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stamped_version_and_its_modules() {
        let release = kubernetes_version();
        let flags = KUBERNETES.flags();
        assert!(flags.last().unwrap().contains(&format!(".gitVersion=v{release} ")), "{flags:?}");
        let staging = release.strip_prefix("1.").unwrap();
        let replaced: Vec<&str> = GO_MOD.lines().filter(|line| line.contains(" => ")).collect();
        assert_eq!(replaced.len(), 33);
        for line in replaced {
            assert!(line.ends_with(&format!(" v0.{staging}")), "{line}");
        }
    }

    #[test]
    fn every_program_is_a_tool_of_its_module() {
        for program in
            [&CONTROL_PLANE, &NODE, &QUEUE].into_iter().flat_map(|recipe| recipe.programs)
        {
            let (_, go_mod) = program.module.files[0];
            let tool = |line: &str| line.trim().trim_start_matches("tool ") == program.package;
            let main = format!("{}/main.go", program.name);
            let own = program.module.files.iter().any(|(name, _)| *name == main);
            assert!(own || go_mod.lines().any(tool), "{}", program.package);
        }
    }

    #[test]
    fn recipes_have_keys_of_their_own() {
        assert_ne!(CONTROL_PLANE.key(b"go"), NODE.key(b"go"));
        assert_ne!(NODE.key(b"go"), NODE.key(b"another go"));
        assert_eq!(NODE.key(b"go").len(), 20);
    }
}
