//! Archives that are not safe, through the whole step: what it says, and what it leaves.

use std::fs;
use std::io::{Cursor, Write as _};

use tar::{Builder, EntryType, Header};

use crate::kit::Pod;

const FILE: EntryType = EntryType::Regular;
const LINK: EntryType = EntryType::Symlink;
const HARD: EntryType = EntryType::Link;

/// Kind, name, content or target.
type Entry<'a> = (EntryType, &'a str, &'a str);

fn tar_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, name, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        let is_link = matches!(*kind, LINK | HARD);
        if is_link {
            header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
        }
        header.set_size(if is_link { 0 } else { content.len() as u64 });
        header.set_cksum();
        let content = if is_link { "" } else { content };
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip_of(entries: &[(&str, u32)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode) in entries {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
        if mode & 0o170_000 == 0o120_000 {
            writer.add_symlink(*name, "/etc/passwd", options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(b"content").unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// Every archive that is refused, with what is said of it.
fn unsafe_archives() -> Vec<(Vec<u8>, &'static str)> {
    let file = (FILE, "x", "content");
    let twice = tar_of(&[file, file]);
    let encrypted = {
        let mut zip = zip_of(&[("x", 0o644)]);
        let directory = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
        (zip[6], zip[directory + 8]) = (1, 1);
        zip
    };
    let mut broken = gz(&tar_of(&[file]));
    let end = broken.len() - 5;
    broken[end] ^= 1;
    let cut = tar_of(&[file])[..1024].to_vec();
    vec![
        (tar_of(&[(FILE, "/etc/x", "")]), "it holds an absolute path: `/etc/x`"),
        (tar_of(&[(FILE, "../x", "")]), "it holds a path with `..` in it: `../x`"),
        (tar_of(&[(FILE, "a\\b", "")]), "it holds a name with a backslash: `a\\\\b`"),
        (tar_of(&[(FILE, "C:x", "")]), "it holds a path with a drive letter: `C:x`"),
        (
            tar_of(&[(FILE, "a\u{1b}[31m", "")]),
            "it holds a name with a control character: `a\\u{1b}[31m`",
        ),
        (tar_of(&[(EntryType::Char, "null", "")]), "it holds a device: `null`"),
        (tar_of(&[(EntryType::Block, "disk", "")]), "it holds a device: `disk`"),
        (tar_of(&[(EntryType::Fifo, "pipe", "")]), "it holds a named pipe: `pipe`"),
        (
            tar_of(&[(EntryType::new(b'V'), "label", "")]),
            "it holds an entry of an unknown kind: `label`",
        ),
        (tar_of(&[(LINK, "l", "/etc/passwd")]), "it holds a link to an absolute or odd path: `l`"),
        (
            tar_of(&[(LINK, "a/l", "../../x")]),
            "it holds a link that leads out of the archive: `a/l`",
        ),
        (
            tar_of(&[(LINK, "l", "a/../x")]),
            "it holds a link whose `..` is not at its beginning: `l`",
        ),
        (
            tar_of(&[(LINK, "l", "."), (FILE, "l/x", "")]),
            "it holds a folder where a file or link is: `l/x`",
        ),
        (
            tar_of(&[(HARD, "l", "y")]),
            "it holds a hard link to what is no earlier file of the archive: `l`",
        ),
        (twice.clone(), "it holds a name that is there twice: `x`"),
        (gz(&twice), "it holds a name that is there twice: `x`"),
        (
            tar_of(&[file, (FILE, "X", "")]),
            "it holds a name that differs from another in letter case or Unicode form only: `X`",
        ),
        ([tar_of(&[file]), tar_of(&[file])].concat(), "it goes on behind its end"),
        (cut, "it ends without the mark of its end, so it may have been cut"),
        (broken, "it is broken: "),
        (zip_of(&[("../x", 0o644)]), "it holds a path with `..` in it: `../x`"),
        (zip_of(&[("l", 0o120_777)]), "it holds a link to an absolute or odd path: `l`"),
        (zip_of(&[("x", 0o644), ("X", 0o644)]), "letter case or Unicode form only: `X`"),
        ([zip_of(&[("x", 0o644)]), b"more".to_vec()].concat(), "it goes on behind its end"),
        (encrypted, "it holds an encrypted file: `x`"),
    ]
}

#[test]
fn each_refusal_has_its_words() {
    let mut pod = Pod::new();
    let beside = || {
        let mut names: Vec<_> = fs::read_dir(pod.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    pod.ends(0);
    let sound = beside();
    for (archive, wrong) in unsafe_archives() {
        pod.empty();
        pod.set_snapshot(archive);
        let said = pod.ends(17);
        let begin = format!("error: stage: archive-refused: the snapshot is refused: {wrong}");
        let is_as_expected = said.starts_with(&begin) || said.contains(wrong);
        assert!(is_as_expected, "{said} instead of {wrong}");
        assert!(said.contains("docs/pod.md") && !said.contains('\u{1b}'), "{said}");
        // Nothing can run, and nothing lies where nobody looks.
        assert!(!pod.folder.path().join("tools/harness").exists());
        let names: Vec<_> = fs::read_dir(pod.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| !sound.contains(name))
            .collect();
        assert!(names.is_empty(), "{names:?}");
    }
}

#[test]
fn a_resume_is_held_to_the_same() {
    let pod = Pod::new().with_resume();
    let archive = tar_of(&[(FILE, "../x", "")]);
    pod.store.put("inputs/resume", &archive).unwrap();
    let mut command = pod.command();
    let digest = harness::submission::Sha256Digest::of(&archive).to_hex();
    let snapshot = harness::submission::Sha256Digest::of(&pod.snapshot).to_hex();
    let arguments: Vec<_> = command
        .get_args()
        .map(|argument| argument.to_str().unwrap().to_owned())
        .map(|argument| match argument.strip_prefix("--resume-sha256=") {
            Some(named) if named == snapshot => format!("--resume-sha256={digest}"),
            _ => argument,
        })
        .collect();
    command = std::process::Command::new(env!("CARGO_BIN_EXE_harness"));
    command.args(arguments).env_clear().env("SSL_CERT_FILE", pod.store.authority());
    let said = pod.said(&command.output().unwrap(), 17);
    assert!(said.contains("the resume is refused: it holds a path with `..` in it"), "{said}");
}

#[test]
fn what_unpacks_to_too_much_names_the_volume() {
    let mut pod = Pod::new();
    let zeros = "\0".repeat(3 << 20);
    pod.set_snapshot(gz(&tar_of(&[(FILE, "zeros", &zeros)])));
    pod.inputs_size = "2Mi";
    let said = pod.ends(18);
    assert!(
        said.contains("inputs-too-large: the snapshot is too large: it unpacks to more than the"),
        "{said}"
    );
    assert!(said.contains("volumes.inputs"), "{said}");
}
