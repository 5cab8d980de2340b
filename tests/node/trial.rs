//! One experiment from its inputs in a store to its result there: harness's own binary everywhere, nothing stood in for.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::sync::OnceLock;

use harness::submission::Sha256Digest;
use harness_test_cluster::{ADDRESS, Grant, Image, Names, User, node};
use harness_test_store::{Options, Store};
use serde_json::{Value, json};

use crate::common::situation::Taken;
use crate::common::{Harness, Run, Sample, command, find, rules};
use crate::kit::{Kit, sample, shell_image};

/// How long `status` waits: longer than the Job's own deadline allows it to last.
const WAIT: &str = "--wait=15m";
const EVALUATOR: &str = "2222222222222222222222222222222222222222222222222222222222222222";
/// By this name the store is found in pods and nowhere else.
const STORE_NAME: &str = "store.test";

/// The store of all trials, at the node's address; each trial has objects of its own.
pub(crate) fn store() -> &'static Store {
    static STORE: OnceLock<(Store, Names)> = OnceLock::new();
    let start = || {
        let names = node().serve_names().unwrap();
        (Store::start_with(&Options::at(ADDRESS.into())).unwrap(), names)
    };
    &STORE.get_or_init(start).0
}

/// The store as pods name it.
pub(crate) fn store_host() -> String {
    let host = store().host();
    let (_, port) = host.rsplit_once(':').unwrap();
    format!("{STORE_NAME}:{port}")
}

/// An experiment before it is submitted.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) kit: Kit,
    /// What is submitted; change it as the test needs.
    pub(crate) sample: Sample,
    /// What the store holds at the mission's place; change it as the test needs, its digest follows.
    pub(crate) mission: Value,
    /// Another harness image than the one that holds nothing else.
    pub(crate) harness_image: Option<Image>,
    attempt: String,
    /// Somebody with the role that only watches, once asked for: a control plane has so many users and no more.
    watcher: OnceLock<User>,
}

/// An experiment that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) trial: Trial,
    /// The Job's name.
    pub(crate) job: String,
    /// `status -o json` at the end.
    pub(crate) status: Value,
    /// How `status --wait` ended.
    pub(crate) waited: Run,
}

/// A result, unpacked.
#[derive(Debug)]
pub(crate) struct Archive {
    /// Names and contents of the output, `/`-separated and without `output/`.
    pub(crate) output: Vec<(String, Vec<u8>)>,
    /// What `evidence verify -o json` says.
    pub(crate) verdict: Value,
}

impl Trial {
    /// An experiment that runs this script in the image with a shell.
    pub(crate) fn shell(prefix: &str, script: &str) -> Self {
        Self::new(prefix, shell_image(), &["sh", "-c", script])
    }

    /// An experiment that runs this command in this image, with a snapshot of two files.
    pub(crate) fn new(prefix: &str, image: &Image, runner: &[&str]) -> Self {
        let kit = Kit::new(prefix);
        let authority = fs::read_to_string(store().authority()).unwrap();
        kit.create(
            "configmaps",
            &json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "store-authority"},
                "data": {"authority.pem": authority},
            }),
        );
        let attempt = "attempt-1".to_owned();
        let mut sample = sample(&attempt, image, runner)
            .with("resource_profile", "store-v1")
            .with("search_budget", json!({"max_seconds": 120}))
            .with("evaluator_version", format!("sha256:{EVALUATOR}"))
            .with("result_put_headers", json!({"If-None-Match": "*"}));
        sample.value.as_object_mut().unwrap().remove("credentials_expire_at");
        sample.markers.clear();
        let mut trial = Self {
            kit,
            sample,
            mission: Value::Null,
            harness_image: None,
            attempt,
            watcher: OnceLock::new(),
        };
        let mission = json!({
            "mission_id": trial.sample.value["mission_id"],
            "evaluator_version": trial.sample.value["evaluator_version"],
            "search_budget": trial.sample.value["search_budget"],
            "anything": "else",
        });
        trial.mission = mission;
        trial.set_input("snapshot", &archive(&[("data/one", b"first"), ("data/two", b"second")]));
        trial.sign_result();
        trial
    }

    /// With another budget, in the mission too.
    pub(crate) fn budget(mut self, seconds: u32) -> Self {
        self.sample.value["search_budget"]["max_seconds"] = seconds.into();
        self.mission["search_budget"]["max_seconds"] = seconds.into();
        self
    }

    /// The object of this name, such as `results/.../result.tar.gz`.
    pub(crate) fn object(&self, name: &str) -> String {
        let bucket = if name == "result" { "results" } else { "inputs" };
        format!("{bucket}/{}/{}/{name}", self.kit.namespace.name, self.attempt)
    }

    /// Puts an input into the store, with digest and signed URL in the submission.
    pub(crate) fn set_input(&mut self, name: &str, bytes: &[u8]) {
        let object = self.object(name);
        store().put(&object, bytes).unwrap();
        let digest = Sha256Digest::of(bytes).to_hex();
        self.sample.value[format!("{name}_sha256")] = digest.into();
        let url = store().sign("GET", &object).host(&store_host()).url();
        self.sample.value[format!("{name}_url")] = url.into();
    }

    fn sign_result(&mut self) {
        let object = self.object("result");
        let put = store().sign("PUT", &object).host(&store_host()).create_only().url();
        let get = store().sign("GET", &object).host(&store_host()).url();
        self.sample.value["result_put_url"] = put.into();
        self.sample.value["result_readback_url"] = get.into();
    }

    /// Submits it and gives the Job's name.
    #[track_caller]
    pub(crate) fn submit(&mut self) -> String {
        let mission = self.mission.to_string();
        self.set_input("mission", mission.as_bytes());
        for field in ["mission_url", "snapshot_url", "result_put_url", "result_readback_url"] {
            let url = self.sample.value[field].as_str().unwrap_or_default();
            let signature = url.split("X-Amz-Signature=").nth(1).map(str::to_owned);
            self.sample.markers.extend(signature);
        }
        let mut harness = self.kit.harness();
        if let Some(image) = &self.harness_image {
            harness = harness.env("HARNESS_IMAGE", &image.reference);
        }
        let receipt = harness.submit(&self.sample).expect(0, "created");
        find(&receipt, "/job/name").as_str().unwrap().to_owned()
    }

    /// harness as somebody with the role that only watches.
    pub(crate) fn watcher(&self) -> Harness {
        let user = self.watcher.get_or_init(|| {
            let grant = Grant::in_namespace(&self.kit.namespace.name, rules("watcher"));
            self.kit.node.cluster().user(&[grant]).unwrap()
        });
        self.kit.harness_as(user)
    }

    /// What `status` says to the watcher.
    pub(crate) fn status(&self, job: &str) -> Value {
        self.watcher().run(&["status", job]).receipts().pop().unwrap()
    }

    /// By another profile of `tests/node/profiles`.
    pub(crate) fn profile(mut self, name: &str) -> Self {
        self.sample.value["resource_profile"] = name.into();
        self
    }

    /// Waits for its end as `harness prediction dispatch status` does.
    #[track_caller]
    pub(crate) fn wait(self, job: String) -> Ended {
        let waited = self.watcher().run(&["status", &job, WAIT]);
        let status = waited.receipts().pop().unwrap();
        self.kit.assert_hides(&self.sample);
        Ended { trial: self, job, status, waited }
    }

    /// Submits it and waits for its end.
    #[track_caller]
    pub(crate) fn run(mut self) -> Ended {
        let job = self.submit();
        self.wait(job)
    }
}

impl Ended {
    /// Panics unless it ended with this code, phase and category.
    #[track_caller]
    pub(crate) fn assert(&self, code: i32, phase: &str, category: &str) {
        let found = (
            self.waited.code,
            self.status["phase"].as_str().unwrap_or_default(),
            self.status["diagnosis"]["category"].as_str().unwrap_or_default(),
        );
        assert_eq!(found, (Some(code), phase, category), "{}", self.story());
    }

    /// Keeps it as a situation of this name; the file that calls this is its recipe.
    #[track_caller]
    pub(crate) fn keep(&self, name: &str) {
        let said = |value: &Value| value.as_str().unwrap().to_owned();
        let (phase, category) =
            (said(&self.status["phase"]), said(&self.status["diagnosis"]["category"]));
        Taken::of(&self.trial.kit, &self.job).keep(name, &phase, &category);
    }

    /// The sentence of the diagnosis.
    pub(crate) fn sentence(&self) -> &str {
        self.status["diagnosis"]["sentence"].as_str().unwrap_or_default()
    }

    /// Everything that helps to see why it ended otherwise.
    pub(crate) fn story(&self) -> String {
        let mut story = format!("{:#}\n", self.status);
        for step in ["stage", "run", "publish"] {
            let log = self.logs(step);
            let code = log.code.unwrap_or(-1);
            writeln!(story, "--- {step}: {code}\n{}{}", log.stdout, log.stderr).unwrap();
        }
        story + &self.trial.kit.kubectl(&["describe", "pods"])
    }

    /// `harness prediction dispatch logs` of a step, as the watcher.
    pub(crate) fn logs(&self, step: &str) -> Run {
        let cluster = self.trial.kit.node.cluster();
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .args(["prediction", "dispatch", "logs", &self.job, "--step", step])
            .args(["--context", harness_test_cluster::ADMIN_CONTEXT])
            .args(["-n", &self.trial.kit.namespace.name])
            .arg("--kubeconfig")
            .arg(cluster.kubeconfig())
            .arg("--kubectl")
            .arg(cluster.kubectl());
        let output = command.output().unwrap();
        Run::new(&command, &output)
    }

    /// The result in the store, `None` where there is none.
    pub(crate) fn result(&self) -> Option<Vec<u8>> {
        store().get(&self.trial.object("result")).unwrap()
    }

    /// The published result, verified with the submission and the digests that the cluster holds.
    #[track_caller]
    pub(crate) fn archive(&self) -> Archive {
        let archive = self.published();
        let told = &archive.verdict;
        assert_eq!(
            told["evidence_digest"], self.status["digests"]["evidence"],
            "{:#}",
            self.status
        );
        assert_eq!(told["evidence_digest"], self.status["evidence_digest"], "{:#}", self.status);
        assert_eq!(told["result_digest"], self.status["digests"]["result"], "{:#}", self.status);
        archive
    }

    /// The published result, verified with the submission; perhaps an earlier pod made it.
    #[track_caller]
    pub(crate) fn published(&self) -> Archive {
        let Some(bytes) = self.result() else { panic!("nothing is published: {}", self.story()) };
        let verdict = self.verify(&bytes, &[]);
        assert_eq!(verdict["result_digest"], Sha256Digest::of(&bytes).to_hex());

        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        let text = String::from_utf8_lossy(&plain);
        for marker in &self.trial.sample.markers {
            assert!(!text.contains(marker), "a signature stands in the result");
        }
        let output = unpacked(&plain);
        Archive { output, verdict }
    }

    /// What `evidence verify` says of these bytes and the submission, with more arguments; it must hold.
    #[track_caller]
    pub(crate) fn verify(&self, bytes: &[u8], arguments: &[&OsStr]) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result.tar.gz");
        fs::write(&file, bytes).unwrap();
        let mut command = command(env!("CARGO_BIN_EXE_harness"));
        command
            .env_clear()
            .args(["evidence", "verify", "-o", "json", "--profiles"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node/profiles"))
            .arg("-f")
            .arg(self.trial.sample.write(folder.path()))
            .args(arguments)
            .arg(file);
        let output = command.output().unwrap();
        let run = Run::new(&command, &output);
        assert_eq!(run.code, Some(0), "{run}");
        let verdict: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(verdict["holds"], true, "{verdict:#}");
        assert_eq!(verdict["compared_with_submission"], true, "{verdict:#}");
        verdict
    }

    /// As [`verify`](Self::verify), and held against the Job of the cluster.
    #[track_caller]
    pub(crate) fn verify_with_cluster(&self, bytes: &[u8]) -> Value {
        let cluster = self.trial.kit.node.cluster();
        let (context, namespace) =
            (harness_test_cluster::ADMIN_CONTEXT, &self.trial.kit.namespace.name);
        let arguments: [&OsStr; 8] = [
            "--context".as_ref(),
            context.as_ref(),
            "-n".as_ref(),
            namespace.as_ref(),
            "--kubeconfig".as_ref(),
            cluster.kubeconfig().as_ref(),
            "--kubectl".as_ref(),
            cluster.kubectl().as_ref(),
        ];
        self.verify(bytes, &arguments)
    }
}

impl Archive {
    /// The text of one file of the output.
    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        let found = self.output.iter().find(|(path, _)| path == name);
        let Some((_, bytes)) = found else {
            let names: Vec<_> = self.output.iter().map(|(path, _)| path).collect();
            panic!("no {name} in {names:?}")
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// What only harness's evidence says.
    pub(crate) fn run(&self) -> &Value {
        find(&self.verdict, "/evidence/predicate/harness_run")
    }
}

fn unpacked(plain: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in tar::Archive::new(plain).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let Some(name) = path.strip_prefix("output/") else { continue };
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        files.push((name.to_owned(), bytes));
    }
    files
}

/// A tar.gz of these files.
pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let compressed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut archive = tar::Builder::new(compressed);
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}
