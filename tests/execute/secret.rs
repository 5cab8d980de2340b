//! A runner that hunts for the signed URLs, as an ordinary user with the same user as everything else.

use std::process::{Command, Stdio};

use crate::kit::{CANARY, ORDINARY, Trial, store};

/// Looks everywhere that this user can look, and prints the places and the digits of every signature it finds.
const HUNT: &str = r"
import os, re, stat
seen = set()
pattern = re.compile(b'X-Amz-Signa' + b'ture=([0-9a-f]{64})')
def look(place, data):
    for digits in pattern.findall(data):
        seen.add((place, digits.decode()))
def read(path, most=64 << 20):
    try:
        with open(path, 'rb') as file:
            return file.read(most)
    except OSError:
        return b''
own = str(os.getpid())
tried, opened = 0, 0
for name in os.listdir('/proc'):
    if not name.isdigit():
        continue
    base = '/proc/' + name
    for file in ('environ', 'cmdline', 'auxv', 'stack', 'syscall'):
        look(file, read(f'{base}/{file}'))
    try:
        for fd in os.listdir(base + '/fd'):
            if stat.S_ISREG(os.stat(f'{base}/fd/{fd}').st_mode):
                look('fd', read(f'{base}/fd/{fd}'))
    except OSError:
        pass
    if name == own:
        continue
    tried += 1
    try:
        maps = open(base + '/maps').read().splitlines()
        memory = open(base + '/mem', 'rb', 0)
    except OSError:
        continue
    opened += 1
    for line in maps:
        span, rights = line.split()[:2]
        if 'r' not in rights:
            continue
        begin, end = (int(part, 16) for part in span.split('-'))
        try:
            memory.seek(begin)
            look('mem', memory.read(min(end - begin, 256 << 20)))
        except (OSError, ValueError, OverflowError):
            pass
root = os.path.dirname(os.environ['HARNESS_OUTPUT'])
most = 20000
for top in (root, os.path.dirname(root), '/tmp', '/dev/shm', '/var/tmp', '/run'):
    for folder, _, files in os.walk(top):
        for file in files:
            path = os.path.join(folder, file)
            most -= 1
            try:
                found = os.lstat(path)
                if most > 0 and stat.S_ISREG(found.st_mode) and found.st_size < 1 << 20:
                    look('file', read(path))
            except OSError:
                pass
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
parent = os.getppid()
grandparent = int(open(f'/proc/{parent}/stat').read().rsplit(')', 1)[1].split()[1])
for name, process in (('run', parent), ('execute', grandparent)):
    if libc.ptrace(16, process, 0, 0) == 0:
        seen.add(('traced', name))
    handle = os.pidfd_open(process)
    for fd in range(32):
        if libc.syscall(438, handle, fd, 0) >= 0:
            seen.add(('descriptor', name))
with open(os.environ['HARNESS_OUTPUT'] + '/seen', 'w') as file:
    for place, digits in sorted(seen):
        print(place, digits, file=file)
    print('looked into', opened, 'of', tried, file=file)
";

#[test]
fn a_runner_never_finds_a_signed_url() {
    let trial = Trial::new().budget(300).ordinary();
    // Something of the same user that can be found, so that a hunt that finds nothing is known to have looked.
    let bait = "b".repeat(64);
    let mut decoy = Command::new("setpriv")
        .args([format!("--reuid={ORDINARY}"), format!("--regid={ORDINARY}")])
        .args(["--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "sleep", "1000"])
        .env("BAIT", format!("{CANARY}={bait}"))
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let ended = trial.end(trial.start(&["/usr/bin/python3", "-c", HUNT]));
    decoy.kill().unwrap();
    decoy.wait().unwrap();
    let document = ended.expect(0, "succeeded");
    let seen = trial.published_file("seen").unwrap();
    for place in ["environ", "mem"] {
        assert!(seen.contains(&format!("{place} {bait}\n")), "{seen}");
    }
    // Whatever lies about on this machine, it is none of this experiment's.
    let signatures = trial.signatures();
    assert_eq!(signatures.len(), 4);
    for found in signatures.iter().map(String::as_str).chain(["traced", "descriptor"]) {
        assert!(!seen.contains(found), "{seen}");
    }
    assert!(!ended.stderr.contains("you are root"), "{ended:#?}");

    // Nor does anybody who holds what is left.
    let bytes = store().get(&trial.result()).unwrap().unwrap();
    let mut plain = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(&bytes[..]);
    std::io::Read::read_to_end(&mut decoder, &mut plain).unwrap();
    let canary = CANARY.as_bytes();
    assert!(!plain.windows(canary.len()).any(|window| window == canary));
    assert!(!document.to_string().contains(CANARY));
}

#[test]
fn root_is_told_that_nothing_is_out_of_the_runner_s_reach() {
    let trial = Trial::new();
    let ended = trial.shell("true");
    ended.expect(0, "succeeded");
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(ended.stderr.contains("you are root"), is_root, "{ended:#?}");
}
