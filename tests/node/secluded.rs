//! What a runner can see of the pod that it is in: no URL, no Secret, no token, no way to write where it should not.

use crate::kit::shell_image;
use crate::trial::Trial;

/// Looks everywhere that a process of the runner's user can. The words are put together so that the search does not find
/// itself, and a file with one of them shows that the search finds anything.
const LOOK: &str = r#"
word="X-Amz-""Signature"
host="store"".test"
echo "$word" > "$HARNESS_SCRATCH/planted"
found() { grep -rslE "$word|$host" "$@" 2>/dev/null; }
for place in /harness/inputs /harness/control /harness/scratch /tmp /etc /run /var /root /home /opt /bin /dev/shm; do found "$place"; done > "$HARNESS_OUTPUT/files"
for process in /proc/[0-9]*; do
  for file in environ cmdline mountinfo maps; do found "$process/$file"; done
done > "$HARNESS_OUTPUT/processes"
for process in /proc/[0-9]*; do cat "$process/cmdline" "$process/mountinfo"; done > "$HARNESS_OUTPUT/seen" 2>/dev/null
env > "$HARNESS_OUTPUT/environment"
ls /harness > "$HARNESS_OUTPUT/places"
find / -xdev -name '*token*' -o -xdev -name 'run.sock' 2>/dev/null | grep -v '^/proc\|^/sys' > "$HARNESS_OUTPUT/names"
for place in / /harness /harness/inputs /harness/tools /harness/control /bin /etc; do
  true 2>/dev/null > "$place/mine" && echo "$place"
done > "$HARNESS_OUTPUT/writable"
cat /proc/1/environ > /dev/null 2>&1 && echo environ >> "$HARNESS_OUTPUT/writable"
cat /proc/1/mem > /dev/null 2>&1 && echo mem >> "$HARNESS_OUTPUT/writable"
ls /proc/1/fd > /dev/null 2>&1 && echo fd >> "$HARNESS_OUTPUT/writable"
grep -E '^(Cap...|NoNewPrivs|Seccomp|Uid|Gid):' /proc/self/status > "$HARNESS_OUTPUT/status"
true
"#;

#[test]
fn a_runner_finds_no_secret_and_writes_nowhere_else() {
    let ended = Trial::new("secluded", shell_image(), &["sh", "-c", LOOK]).run();
    ended.assert(0, "succeeded", "succeeded");
    let archive = ended.archive();
    assert_eq!(archive.text("files"), "/harness/scratch/planted\n");
    assert_eq!(archive.text("processes"), "");
    assert_eq!(archive.text("names"), "");
    assert_eq!(archive.text("writable"), "");
    assert_eq!(archive.text("places"), "control\ninputs\noutput\nscratch\ntools\n");
    assert!(!archive.text("seen").contains("serviceaccount"), "{}", archive.text("seen"));
    assert!(archive.text("seen").contains("/harness/inputs"), "{}", archive.text("seen"));
    let environment = archive.text("environment");
    assert!(!environment.contains("https://"), "{environment}");
    let status = archive.text("status");
    for line in
        ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000"]
    {
        assert!(status.contains(line), "{status}");
    }
}
