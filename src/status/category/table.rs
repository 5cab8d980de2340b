//! The table of categories: name, one line, the whole story, what to do. Pure; held to `docs/status.md` by a test.

use super::{Category, Entry};

categories! {
    ACCEPTED = "accepted",
        "the Job exists and no controller has looked at it yet",
        "The Job was created a moment ago, or the cluster's Job controller is busy or down: the Job has no status of any kind. Nothing is lost; the Job runs once the controller gets to it.",
        "wait; if it stays so for minutes, ask whoever runs the cluster about its controller manager";
    QUEUED = "queued",
        "the Job is suspended and waits in a queue",
        "The Job carries a queue's label and is suspended until the queue controller (Kueue) admits it. Time in the queue counts against no deadline. If the queue does not exist or has no quota it waits for ever.",
        "wait; `kubectl get workloads` shows what the queue says";
    REQUEUED = "requeued",
        "the queue took the Job back after it had started",
        "The Job had started, and the queue suspended it again, as Kueue does to make room for others. Its pod was ended, and what its runner had left by then was published if it could be. When the queue admits the Job again, `stage` ends it if it finds that result; otherwise the code starts a second time. Two results can still never be published.",
        "wait, or cancel it if a second run is not wanted";
    SUSPENDED = "suspended",
        "the Job is suspended, and by no queue",
        "Somebody or something set `suspend` on the Job, and it names no queue that would lift it again.",
        "find out who suspended it; nothing runs until that is lifted";
    NO_POD_YET = "no-pod-yet",
        "the Job has started and its pod is about to be made",
        "The controller has seen the Job and makes its pod, which takes a moment.",
        "wait";
    QUOTA = "quota",
        "the namespace's quota leaves no room for the pod",
        "The API server refused the pod because it would exceed the quota of the namespace. The controller tries again until the Job's deadline.",
        "wait for other experiments to end, or ask for a larger quota";
    POD_SECURITY = "pod-security",
        "Pod Security refused the pod",
        "The namespace enforces a Pod Security level that the pod does not meet. What harness renders meets `restricted`, so a container that something injected is the usual reason; the sentence names it.",
        "have the injection switched off for this namespace";
    ADMISSION = "admission",
        "an admission policy or webhook refused the pod",
        "The pod could not be created: a policy, a webhook or a limit of the cluster refused it. The controller tries again until the Job's deadline.",
        "show the sentence to whoever runs the cluster";
    SCHEDULING = "scheduling",
        "the pod waits for the scheduler",
        "The pod exists and the scheduler has not said anything about it yet.",
        "wait; if it stays so, ask whoever runs the cluster about its scheduler";
    UNSCHEDULABLE = "unschedulable",
        "no node can take the pod now",
        "The scheduler found no node for the pod; the sentence is its own, cut to what matters. It tries again until the Job's deadline.",
        "wait for a node, or take a profile that fits the cluster's nodes";
    SCHEDULING_GATED = "scheduling-gated",
        "something holds the pod back from the scheduler",
        "The pod carries scheduling gates, which whoever added them has to lift.",
        "find out which controller added the gates";
    STARTING = "starting",
        "the node prepares the pod",
        "The pod has a node, which mounts volumes, pulls images and makes the containers.",
        "wait";
    PULLING = "pulling",
        "the node pulls an image",
        "The node fetches an image, which can take minutes for a large one. The time counts against the pod's deadline.",
        "wait";
    VOLUME_MISSING = "volume-missing",
        "a volume cannot be mounted",
        "The node cannot mount what the pod needs: a claim or a ConfigMap is missing, or the storage does not answer. It tries again until the deadline.",
        "create what is missing, or repair the profile that names it";
    SECRET_MISSING = "secret-missing",
        "a Secret that the pod needs does not exist",
        "The pod cannot start without its Secret. If it is the experiment's own, submitting the same file again creates it; if it is the runner's or a pull secret, it has to be created.",
        "submit the same file again, or create the Secret that the sentence names";
    CONTAINER_CONFIG = "container-config",
        "the node cannot configure a container",
        "The node refused a container's configuration: a key or an object that it refers to is missing, or the image would run as root.",
        "the sentence says what the node wants";
    CONTAINER_CREATE = "container-create",
        "the node cannot make a container",
        "The container runtime of the node failed to make the pod's sandbox or one of its containers.",
        "show the sentence to whoever runs the cluster";
    CONTAINER_START = "container-start",
        "a container could not be started",
        "The container was made and its program could not be started: it does not exist in the image, is built for another platform, or may not be executed.",
        "the sentence is the node's own; check the image: its platform, and that the file can be executed in it";
    IMAGE_NOT_FOUND = "image-not-found",
        "the registry has no such image",
        "The registry says that there is no such repository or no such digest. Some registries say so to whoever may not read it, too.",
        "check that the digest was pushed to this repository, and that the node may read it";
    IMAGE_AUTH = "image-auth",
        "the registry wants other credentials for the image",
        "The registry refused the node: no credentials, wrong ones, or no right to read this repository.",
        "name a pull secret in the profile, or mend the one that it names";
    IMAGE_PLATFORM = "image-platform",
        "the image does not exist for the node's platform",
        "The image has no variant for the operating system and processor of the node.",
        "push the image for this platform, or take a profile whose nodes fit it";
    IMAGE_DIGEST = "image-digest",
        "what the registry sent is not the image of this digest",
        "The bytes that arrived have another digest than the one that was asked for: a broken registry, mirror or proxy, or worse.",
        "have the registry or its mirror looked at; do not use another digest to get around it";
    IMAGE_REGISTRY = "image-registry",
        "the registry cannot be reached",
        "The node could not talk to the registry: no such name, no connection, a broken certificate, or an error of the server. It tries again.",
        "wait, and check that the nodes can reach the registry";
    IMAGE_RATE_LIMIT = "image-rate-limit",
        "the registry lets no more pulls through for now",
        "The registry answered that too many images were pulled. The node tries again, with growing pauses.",
        "wait, use credentials with a higher limit, or a mirror";
    IMAGE_NAME = "image-name",
        "the image's name cannot be read by the node",
        "The node cannot parse the image reference, although harness could.",
        "report it with the image's name";
    IMAGE_PULL = "image-pull",
        "an image cannot be pulled",
        "The node failed to pull an image for a reason that harness does not know. It tries again until the deadline.",
        "the sentence is the node's own";
    STAGING = "staging",
        "the inputs are being fetched and checked",
        "The step `stage` runs: it fetches mission, snapshot and resume, checks their digests and unpacks them.",
        "";
    RUNNING = "running",
        "the runner is at work",
        "The step `run` runs the submission's code, within the budget that it was given.",
        "";
    PUBLISHING = "publishing",
        "the runner has ended and its result is being published",
        "The step `publish` packs and publishes what the runner left, also when the runner failed.",
        "";
    FINISHING = "finishing",
        "the pod has ended and the Job is about to say so",
        "Every step has ended; the Job's own conditions, which decide, follow in a moment.",
        "wait";
    SIDECAR = "sidecar",
        "the steps have ended and a foreign container keeps the pod alive",
        "Something injected a container into the pod that does not end by itself, so that the Job cannot end before its deadline.",
        "have the injection switched off for this namespace; what was published stays";
    NODE_LOST = "node-lost",
        "the pod's node is gone or does not answer",
        "The node went down, was removed or lost its connection while the pod was on it. Whether the code ran to an end there cannot be told from here.",
        "look whether the result object exists; take a new attempt_id to run again";
    NODE_REFUSED = "node-refused",
        "the node refused the pod",
        "The kubelet did not admit the pod: the node has too little of something, or does not fit after all. Mostly nothing ran, but a kubelet that starts anew and has less to give also refuses pods that run; `run_started` tells.",
        "take a new attempt_id to run again";
    EVICTED = "evicted",
        "the pod was evicted from its node",
        "The node ran short of memory or disk, somebody drained it, or a taint drove the pod away.",
        "take a new attempt_id to run again; a profile with larger requests is evicted later";
    PREEMPTED = "preempted",
        "the pod had to make room for a more important one",
        "The scheduler or the node ended the pod in favour of one with a higher priority.",
        "take a new attempt_id to run again, perhaps with a profile of higher priority";
    OUT_OF_MEMORY = "out-of-memory",
        "a step needed more memory than it may use",
        "The kernel ended the step for want of memory. What the runner had left until then is published if publication was still possible.",
        "take a profile with more memory, and a new attempt_id";
    DEADLINE = "deadline",
        "the time ran out",
        "The deadline of the pod or of the Job passed; the sentence says which, and which step was running. When the Job's own deadline passes the pod is deleted and its messages with it.",
        "take a profile with a longer deadline or a smaller budget, and a new attempt_id";
    ALREADY_STARTED = "already-started",
        "a step found traces of an earlier start",
        "A volume that has to be empty was not: the step had begun before, in the same pod. It refuses to begin twice.",
        "take a new attempt_id to run again";
    ALREADY_PUBLISHED = "already-published",
        "the result object exists: somebody published it before",
        "The object that this experiment would create is there. It may come from another namespace or cluster, or from this experiment itself before its answer was lost. Nothing was overwritten.",
        "read the result that is there, or take a new attempt_id and with it a new object";
    DOWNLOAD_FAILED = "download-failed",
        "an input could not be fetched although it was tried again",
        "The store did not answer, or answered with errors, until the time for it was over.",
        "look at the store, then take a new attempt_id to run again";
    DOWNLOAD_REFUSED = "download-refused",
        "the store refused an input",
        "The store answered for good: no such object, no right to read it, a signature that has ended, or a redirect to another host.",
        "check that the object exists and sign its URL again; take a new attempt_id";
    DIGEST_MISMATCH = "digest-mismatch",
        "an input is not the one that the submission names",
        "The bytes that were fetched have another SHA-256 than the submission says. Nothing was run on them.",
        "find out which of the two is right, the object or the digest";
    IDENTITY_MISMATCH = "identity-mismatch",
        "the mission is not the one that the submission describes",
        "The mission document names another mission, evaluator or budget than the submission.",
        "make the submission say what its mission document says";
    MISSION_INVALID = "mission-invalid",
        "the mission document cannot be read",
        "The mission has the right digest and is no JSON document of the form that is asked for.",
        "mend the mission document; it has a new digest then";
    ARCHIVE_REFUSED = "archive-refused",
        "an archive cannot be read or is not safe to unpack",
        "The snapshot or the resume is broken, has paths that lead outside, or is of a form that harness does not unpack.",
        "pack it again";
    INPUTS_TOO_LARGE = "inputs-too-large",
        "the inputs are larger than the profile allows",
        "The inputs, packed or unpacked, do not fit the size that the profile gives them.",
        "take a profile with larger inputs";
    OUT_OF_TIME = "out-of-time",
        "too little time was left to begin the next step",
        "A slow pull or a slow download left less time than the search budget and publication need, so the run was not begun.",
        "take a new attempt_id; a profile with more time for pulling or staging helps";
    NO_RUNNER = "no-runner",
        "there is no command to run, or it cannot be executed",
        "The submission names no command and its image sets no HARNESS_RUNNER, or the command is not there or may not be executed.",
        "name the command in `runner_command`, or set HARNESS_RUNNER in the image";
    RUNNER_FAILED = "runner-failed",
        "the runner ended with an error of its own",
        "The submission's code ended with a status other than 0. Its output up to then and the end of its log are in the result, if one was published.",
        "read its log: `harness prediction dispatch logs`";
    RUNNER_KILLED = "runner-killed",
        "the runner was ended by a signal that harness did not send",
        "Something inside the container killed the runner, or everything in the container was ended at once.",
        "read its log: `harness prediction dispatch logs`";
    BUDGET_EXCEEDED = "budget-exceeded",
        "the runner did not stop within its budget",
        "The runner was still at work when its search budget was over and was ended. What it had left until then was published.",
        "let the runner stop by itself, or give it a larger `max_seconds`";
    LIMIT_EXCEEDED = "limit-exceeded",
        "output or scratch grew beyond its size",
        "The runner wrote more bytes or more files than its volumes may hold and was ended.",
        "let it write less, or take a profile with larger volumes";
    NEVER_STARTED = "never-started",
        "the runner was never started",
        "Something ended the experiment before its code was started. Nothing was published.",
        "take a new attempt_id to run again";
    STOPPED = "stopped",
        "a step was told to stop",
        "The step was asked to end, and nothing says by whom: a deadline, a deleted pod, a node that went down.",
        "take a new attempt_id to run again";
    PUBLICATION_FAILED = "publication-failed",
        "the result could not be published",
        "The runner ended and its result could not be stored: the store refused it or did not answer, or the signature had ended.",
        "look whether the result object exists; sign for longer, and take a new attempt_id";
    ENVIRONMENT = "environment",
        "what a step needs around it is missing or broken",
        "A volume, a certificate, a file with a URL or the connection between the steps is not as it has to be.",
        "the sentence says what is missing; it is usually the profile or the cluster";
    STEP_FAILED = "step-failed",
        "a step failed and left no reason that harness knows",
        "A container ended with a status that no step of harness uses, and without a message that can be read.",
        "read its log: `harness prediction dispatch logs`";
    POD_VANISHED = "pod-vanished",
        "the pod is gone, and what it could have told with it",
        "The Job had a pod, and it does not exist any more: somebody or something deleted it. What it did until then cannot be told from here; the Job's own conditions follow.",
        "look whether the result object exists; take a new attempt_id to run again";
    RUN_MORE_THAN_ONCE = "run-more-than-once",
        "more than one pod of this Job started the code",
        "Two pods of one Job have started their runner: a queue that preempted it, a profile with `on_disruption: restart`, or a hand that resumed a suspended Job or removed a finalizer. Two results can still never be published.",
        "trust only the result object; its evidence says which pod made it";
    CANCEL_REQUESTED = "cancel-requested",
        "somebody asked for the end, which is on its way",
        "The Job was marked as cancelled and is not over yet; what ends it takes a moment.",
        "wait";
    CANCELLED = "cancelled",
        "the experiment was ended on request",
        "Somebody cancelled it; the sentence says who and when. What had been published until then stays.",
        "take a new attempt_id to run again";
    BEING_DELETED = "being-deleted",
        "the Job is being deleted",
        "Somebody deleted the Job, and something still holds it until its pod has gone.",
        "wait, then look again";
    SUCCEEDED = "succeeded",
        "the runner succeeded and its result was published",
        "The Job is complete: every step ended well, and the result object is there to be read.",
        "";
    FAILED = "failed",
        "the Job failed, and nothing that is left says why",
        "The Job's conditions say that it failed. The pod is gone or left no message, and no event is left.",
        "look whether the result object exists; take a new attempt_id to run again";
    RECORDED = "recorded",
        "the experiment ended and its Job was tidied away",
        "The Job was pruned; the record in its place says how it ended and keeps the result from being made a second time.",
        "";
    ABSENT = "absent",
        "there is no such experiment",
        "No Job and no record of this name exist in the namespace that was asked.",
        "check the name, the namespace and the context; `harness prediction dispatch list` shows what there is";
    REPLACED = "replaced",
        "another Job stands under the same name",
        "The Job that was waited for is gone, and one with another UID stands in its place.",
        "look at it without waiting: `harness prediction dispatch status`";
    DELETED = "deleted",
        "the Job was deleted while it was waited for",
        "The Job was there and is gone, and no record was left in its place.",
        "find out who deleted it; take a new attempt_id to run again";
    FOREIGN = "foreign",
        "what stands under this name is not from harness",
        "An object of this name exists without the labels that harness gives.",
        "have whoever made it remove it, or take a new attempt_id";
    UNKNOWN = "unknown",
        "what was seen fits nothing that harness knows",
        "The objects contradict each other or hold something that harness has no word for; the sentence says what was seen.",
        "`kubectl describe` of the Job and its pod shows the rest";
}
