//! Archives that were cut, changed or made by an attacker: nothing panics, and nothing is written or leads outside.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;

fn sound() -> [(&'static str, Vec<u8>); 4] {
    let tar = sound_tar();
    [("tar", tar.clone()), ("tar.gz", gz(&tar)), ("tar.zst", zst(&tar)), ("zip", sound_zip())]
}

/// Every path below a folder with the content of files and the target of links.
fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            assert!(kind.is_dir() || kind.is_file() || kind.is_symlink(), "{path:?}");
            let content = if kind.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), content);
        }
    }
    found
}

/// Unpacks whatever this is; nothing may lie beside the target, and no link may lead out of it.
fn unpack_safely(archive: &[u8]) -> (Place, Result<Unpacked, UnpackError>) {
    let place = Place::new();
    let ended = place.unpack(archive, LIMITS);
    let beside: Vec<_> = fs::read_dir(place.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "archive")
        .collect();
    assert_eq!(beside, ["snapshot"]);
    let target = place.target();
    for path in tree(&target).keys() {
        let path = target.join(path);
        if fs::symlink_metadata(&path).unwrap().is_symlink() {
            // Links come last: none of a refused archive is there.
            assert!(ended.is_ok(), "{path:?}");
            if let Ok(leads) = fs::canonicalize(&path) {
                assert!(
                    leads.starts_with(fs::canonicalize(&target).unwrap()),
                    "{path:?} {leads:?}"
                );
            }
        }
    }
    if let Err(error) = &ended {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
    }
    (place, ended)
}

#[test]
fn a_cut_archive_is_refused_or_was_whole() {
    for (format, archive) in sound() {
        let (place, ended) = unpack_safely(&archive);
        assert_eq!(ended.unwrap().format, format);
        let whole = tree(&place.target());
        for length in 0..archive.len() {
            match unpack_safely(&archive[..length]) {
                // What is too short to be known is a file as it is.
                (place, Ok(Unpacked { format: "file", .. })) => {
                    let data = fs::read(place.target().join("data")).unwrap();
                    assert_eq!(data, &archive[..length]);
                    assert!(length < 600, "{format} cut to {length} bytes");
                }
                (place, Ok(_)) => {
                    assert_eq!(tree(&place.target()), whole, "{format} cut to {length} bytes");
                }
                (_, Err(UnpackError::Refused(_))) => {}
                (_, Err(error)) => panic!("{format} cut to {length} bytes: {error:?}"),
            }
        }
    }
}

#[test]
fn a_flip_at_every_byte() {
    for (format, archive) in sound() {
        for at in 0..archive.len() {
            let mut changed = archive.clone();
            // Another bit at every byte, the same in every run.
            changed[at] ^= 1 << (at * 5 % 8);
            let (_, ended) = unpack_safely(&changed);
            let is_of_its_kind = !matches!(ended, Err(UnpackError::Io(_)));
            assert!(is_of_its_kind, "{format}, byte {at}: {ended:?}");
        }
    }
}

/// Names as an attacker would choose them.
fn names() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[abA]",
        1 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(String::new()),
        1 => Just("e\u{301}".to_owned()),
        1 => Just("\u{e9}".to_owned()),
        1 => "\\PC{0,4}",
    ];
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

/// Mostly kinds that are taken.
fn kinds() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => Just(b'0'), 2 => Just(b'2'), 2 => Just(b'1'), 2 => Just(b'5'),
        1 => prop::sample::select(&b"34567LKSxgV\0"[..]), 1 => any::<u8>(),
    ]
}

proptest! {
    #[test]
    fn changes_and_cuts(
        format in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let mut archive = sound()[format].1.clone();
        for (index, value) in changes {
            let index = index.index(archive.len());
            archive[index] = value;
        }
        if !whole {
            archive.truncate(cut.index(archive.len()));
        }
        drop(unpack_safely(&archive));
    }

    /// Sound headers with anything in them.
    #[test]
    fn entries_of_an_attacker(
        entries in prop::collection::vec((names(), kinds(), names(), 0..700_usize, any::<bool>()), 1..12),
    ) {
        let mut tar = Vec::new();
        for (name, kind, link, size, honest) in &entries {
            let cut = |text: &str| text.as_bytes()[..text.len().min(100)].to_vec();
            let mut header = header(&cut(name), EntryType::new(*kind), 0o644, *size as u64);
            let link = cut(link);
            header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(&link);
            header.set_cksum();
            tar.extend(header.as_bytes());
            let is_content = *honest || matches!(kind, b'0' | b'L' | b'K' | b'x' | b'g');
            let content = if is_content { size.next_multiple_of(512) } else { 0 };
            tar.extend(link.iter().cycle().take(if link.is_empty() { 0 } else { content }));
        }
        tar.extend([0; 1024]);
        drop(unpack_safely(&tar));
        drop(unpack_safely(&gz(&tar)));
    }

    #[test]
    fn zips_of_an_attacker(
        entries in prop::collection::vec((names(), any::<bool>(), names()), 1..12),
    ) {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for (name, is_link, target) in &entries {
            // The writer refuses a name that is there twice.
            if *is_link {
                let _ = writer.add_symlink(name.as_str(), target.as_str(), options);
            } else if writer.start_file(name.as_str(), options).is_ok() {
                writer.write_all(target.as_bytes()).unwrap();
            }
        }
        drop(unpack_safely(&writer.finish().unwrap().into_inner()));
    }

    /// Nothing but the beginning of a format, and then anything.
    #[test]
    fn anything_behind_a_known_beginning(
        magic in prop::sample::select(vec![
            &b"PK\x03\x04"[..], b"PK\x05\x06", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        drop(unpack_safely(&[magic, &rest].concat()));
    }
}
