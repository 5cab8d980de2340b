//! Kueue beside a control plane: a real queue that suspends, admits, evicts and preempts Jobs.
//!
//! It runs as the service account that its own manifests give it, so that policies of a test know it by its name. What
//! kustomize would arrange (a Service, a certificate for it) is arranged here: webhooks lead to 127.0.0.1.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustix::process::getuid;
use serde_json::{Value, json};

use crate::build::Programs;
use crate::components::free_ports;
use crate::control_plane::ControlPlane;
use crate::kubeconfig::{ADMIN_CONTEXT, Kubeconfig};
use crate::supervisor::{is_running, log_tail};
use crate::wait;

/// How long it may take until its webhooks answer, on a loaded machine.
const READY: Duration = Duration::from_mins(3);
const NAMESPACE: &str = "kueue-system";
const ACCOUNT: &str = "kueue-controller-manager";
/// Kueue looks for the certificate of its metrics in /etc/kueue and nowhere else: here that is a folder of its own. One
/// line, as the supervisor takes arguments.
const IN_PLACE: &str = "mount -t tmpfs tmpfs /etc && mkdir -p /etc/kueue/metrics && \
                        cp -r \"$1\" /etc/kueue/metrics/certs && shift && exec \"$@\"";

impl ControlPlane {
    /// Starts Kueue, in some seconds, for all namespaces; it ends with the control plane.
    ///
    /// The very first one builds it, in minutes. A Job that names no queue is none of its business.
    pub fn start_queue(&self) -> Result<()> {
        let programs = Programs::obtain_for_queue()?;
        let folder = self.state().join("kueue");
        fs::create_dir_all(folder.join("certificates"))?;
        let [webhooks, metrics] = free_ports()?;
        self.prepare_queue(&folder, &programs, webhooks)?;
        self.introduce_queue(&folder)?;
        let configuration = json!({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": "0"},
            "metrics": {"bindAddress": format!("127.0.0.1:{metrics}")},
            "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": folder.join("certificates")},
            "leaderElection": {"leaderElect": false},
            "internalCertManagement": {"enable": false},
            "integrations": {"frameworks": ["batch/job"]},
        });
        fs::write(folder.join("configuration.yaml"), configuration.to_string())?;
        let process = self.start_part("kueue", &argv(&folder, &programs))?;
        if wait::until(READY, || !is_running(process) || self.queue_answers(webhooks))
            && is_running(process)
        {
            return Ok(());
        }
        bail!("Kueue does not answer; {}", log_tail(self.state(), "kueue"))
    }

    /// Its kinds and its webhooks, and the certificate that they are served with.
    fn prepare_queue(&self, folder: &Path, programs: &Programs, port: u16) -> Result<()> {
        for (from, to) in [
            (&self.credentials.server_certificate, "tls.crt"),
            (&self.credentials.server_key, "tls.key"),
        ] {
            fs::copy(from, folder.join("certificates").join(to))?;
        }
        let path = |name: &str| programs.path(name).display().to_string();
        self.kubectl_says(&["apply", "--server-side", "-f", &path("crd")])?;
        // They are served a little after they are there.
        let wait = ["wait", "--for=condition=Established", "customresourcedefinitions", "--all"];
        self.kubectl_says(&[&wait[..], &["--timeout=180s"]].concat())?;
        let read = self.kubectl_says(&[
            "create",
            "--dry-run=client",
            "-o=json",
            "-f",
            &path("webhook/manifests.yaml"),
        ])?;
        // kubectl prints a document for each object, without anything between them.
        let documents = serde_json::Deserializer::from_str(&read).into_iter::<Value>();
        let authority = fs::read(&self.credentials.authority)?;
        for document in documents {
            self.create_webhooks(document?, port, &authority)?;
        }
        Ok(())
    }

    /// Those for Jobs and for Kueue's own objects; the others are for kinds that are not there.
    fn create_webhooks(&self, mut object: Value, port: u16, authority: &[u8]) -> Result<()> {
        let webhooks = object["webhooks"].as_array_mut().context("no webhooks")?;
        webhooks.retain(|webhook| {
            let group = &webhook["rules"][0]["apiGroups"][0];
            group == "batch" || group == "kueue.x-k8s.io"
        });
        for webhook in webhooks {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
            let url = format!("https://127.0.0.1:{port}{path}");
            webhook["clientConfig"] =
                json!({"url": url, "caBundle": BASE64_STANDARD.encode(authority)});
        }
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}s");
        self.admin.must("POST", &path, Some(&object)).map(drop)
    }

    /// A namespace and an account with a token for it.
    fn introduce_queue(&self, folder: &Path) -> Result<()> {
        self.admin.must(
            "POST",
            "/api/v1/namespaces",
            Some(&json!({"metadata": {"name": NAMESPACE}})),
        )?;
        let accounts = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
        self.admin.must("POST", &accounts, Some(&json!({"metadata": {"name": ACCOUNT}})))?;
        let group = "rbac.authorization.k8s.io";
        self.admin.must(
            "POST",
            &format!("/apis/{group}/v1/clusterrolebindings"),
            Some(&json!({
                "metadata": {"name": "kueue"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
            })),
        )?;
        let path = format!("{accounts}/{ACCOUNT}/token");
        let answer = self.admin.must("POST", &path, Some(&json!({"spec": {}})))?;
        let token = answer["status"]["token"].as_str().context("no token")?;
        Kubeconfig::create_for_component(folder.join("kubeconfig"), self.context_for(token))
    }

    /// Whether an object of its own passes its webhooks.
    fn queue_answers(&self, port: u16) -> bool {
        let probe = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "probe"},
            "spec": {"namespaceSelector": {}},
        });
        let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues?dryRun=All";
        TcpStream::connect(("127.0.0.1", port)).is_ok()
            && matches!(self.admin.send("POST", path, Some(&probe)), Ok((201, _)))
    }

    fn kubectl_says(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new(self.kubectl())
            .arg(format!("--kubeconfig={}", self.kubeconfig().display()))
            .args(["--context", ADMIN_CONTEXT])
            .args(arguments)
            .env("KUBERC", "off")
            .output()?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {}: {}", arguments.join(" "), message.trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn argv(folder: &Path, programs: &Programs) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut argv = vec!["unshare".to_owned(), "--mount".to_owned()];
    if !getuid().is_root() {
        argv.push("--map-root-user".to_owned());
    }
    argv.extend(["sh", "-c", IN_PLACE, "sh"].map(str::to_owned));
    argv.extend([
        path("certificates"),
        programs.path("kueue").display().to_string(),
        format!("--config={}", path("configuration.yaml")),
        format!("--kubeconfig={}", path("kubeconfig")),
        "--feature-gates=VisibilityOnDemand=false".to_owned(),
    ]);
    argv
}
