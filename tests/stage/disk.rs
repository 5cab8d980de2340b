//! A disk that is full: volumes are small file systems of their own, in a mount namespace that ends with the step.

use std::process::Command;

use crate::kit::Pod;

/// The same command with a file system of these options for a volume; without root in a user namespace.
fn with_small(pod: &Pod, volume: &str, options: &str) -> Command {
    let inner = pod.command();
    let path = pod.folder.path().join(volume);
    std::fs::create_dir_all(&path).unwrap();
    let mut command = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
        .args([
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs -o \"$1\" tmpfs \"$2\" && shift 2 && exec \"$@\"",
        ])
        .arg("sh")
        .arg(options)
        .arg(path)
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("SSL_CERT_FILE", pod.store.authority());
    command
}

fn fails(pod: &Pod, volume: &str, options: &str) -> String {
    let said = pod.said(&with_small(pod, volume, options).output().unwrap(), 29);
    assert!(
        said.starts_with("error: stage: environment: ") && said.contains("No space left"),
        "{said}"
    );
    said
}

#[test]
fn a_transfer_that_does_not_fit() {
    let pod = Pod::new();
    let said = fails(&pod, "inputs", "size=1m");
    assert!(said.contains("the inputs volume cannot be written"), "{said}");
    assert!(said.contains("the node's disk"), "{said}");
    // A full disk is no trouble of the store: it was asked once.
    assert_eq!(pod.asked("/inputs/snapshot"), 1);
    fails(&pod, "inputs", "size=1m,nr_inodes=1");
    assert_eq!(pod.asked("/inputs/snapshot"), 1);
}

#[test]
fn an_archive_that_does_not_fit_beside_itself() {
    let mut pod = Pod::new();
    let mut builder = tar::Builder::new(Vec::new());
    for number in 0..100 {
        let mut header = tar::Header::new_gnu();
        header.set_size(10_000);
        header.set_mode(0o644);
        builder.append_data(&mut header, number.to_string(), &[7; 10_000][..]).unwrap();
    }
    pod.set_snapshot(builder.into_inner().unwrap());
    for options in ["size=1500k", "size=9m,nr_inodes=50"] {
        let said = fails(&pod, "inputs", options);
        assert!(
            said.contains("the snapshot cannot be unpacked: the inputs volume cannot be written"),
            "{said}"
        );
    }
    let ended = with_small(&pod, "inputs", "size=9m").output().unwrap();
    pod.said(&ended, 0);
}

#[test]
fn a_binary_that_does_not_fit() {
    let pod = Pod::new();
    let said = fails(&pod, "tools", "size=64k");
    assert!(said.contains("the harness binary cannot be copied to"), "{said}");
}
