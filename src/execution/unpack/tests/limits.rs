//! Every limit, at its end and one beyond.

use super::*;

const FILE: EntryType = EntryType::Regular;
const FOLDER: EntryType = EntryType::Directory;
const LINK: EntryType = EntryType::Symlink;

fn refusal(archive: &[u8], limits: Limits) -> String {
    match Place::new().unpack(archive, limits) {
        Err(UnpackError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_holds_for_every_archive() {
    let limits = Limits::of_bytes(7);
    assert_eq!((limits.bytes, limits.entries, limits.links), (7, 500_000, 50_000));
}

#[test]
fn bytes_of_all_files_together() {
    let half = "x".repeat(1000);
    let tar = tar_of(&[("x", FILE, 0o644, &half), ("y", FILE, 0o644, &half)]);
    let zip = zip_of(&[("x", 0o644, &half), ("y", 0o644, &half)]);
    for archive in [tar.clone(), gz(&tar), zst(&tar), zip] {
        let unpacked = Place::new().unpack(&archive, Limits { bytes: 2000, ..LIMITS }).unwrap();
        assert_eq!((unpacked.entries, unpacked.bytes), (2, 2000));
        let ended = Place::new().unpack(&archive, Limits { bytes: 1999, ..LIMITS });
        let Err(UnpackError::TooLarge(why)) = ended else { panic!("{ended:?}") };
        assert_eq!(why, "it unpacks to more than the 1999 bytes that are left beside it");
    }
}

#[test]
fn entries_with_the_folders_that_nobody_named() {
    let entries = [
        ("a/b/x", FILE, 0o644, ""),
        ("l", LINK, 0o777, "a"),
        ("h", EntryType::Link, 0o644, "a/b/x"),
    ];
    let tar = tar_of(&entries);
    let zip = zip_of(&[("a/b/x", 0o644, ""), ("l", 0o120_777, "a"), ("h/", 0o755, "")]);
    for archive in [tar, zip] {
        let unpacked = Place::new().unpack(&archive, Limits { entries: 5, ..LIMITS }).unwrap();
        assert_eq!(unpacked.entries, 5);
        let why = refusal(&archive, Limits { entries: 4, ..LIMITS });
        assert_eq!(why, "it holds more than 4 files, folders and links");
    }
    // A folder that is named again is the same folder.
    let again =
        tar_of(&[("a/", FOLDER, 0o755, ""), ("a/", FOLDER, 0o755, ""), ("./", FOLDER, 0o755, "")]);
    assert_eq!(Place::new().unpack(&again, Limits { entries: 1, ..LIMITS }).unwrap().entries, 1);
}

#[test]
fn symbolic_links() {
    let archive = tar_of(&[("l", LINK, 0o777, "x"), ("m", LINK, 0o777, "x")]);
    assert_eq!(Place::new().unpack(&archive, Limits { links: 2, ..LIMITS }).unwrap().entries, 2);
    let why = refusal(&archive, Limits { links: 1, ..LIMITS });
    assert_eq!(why, "it holds more than 1 symbolic links");
}

#[test]
fn times_its_own_size() {
    let zeros = |length: u64| {
        let place = Place::new();
        let mut writer =
            writer::Writer::create(&place.target(), Limits::of_bytes(u64::MAX), 100_000).unwrap();
        writer.file(b"zeros", false, &mut io::repeat(0).take(length))
    };
    // 1100 times 100,000 and what is lost in the division.
    assert_eq!(zeros(110_001_099), Ok(()));
    let Err(UnpackError::Refused(why)) = zeros(110_001_100) else { panic!() };
    assert_eq!(why, "it unpacks to more than 1100 times its own size");
    // A small archive of zeros harms nobody, whatever the ratio.
    let place = Place::new();
    let mut writer =
        writer::Writer::create(&place.target(), Limits::of_bytes(u64::MAX), 1).unwrap();
    assert_eq!(writer.file(b"zeros", false, &mut io::repeat(0).take(64 << 20)), Ok(()));
    assert!(matches!(
        writer.file(b"more", false, &mut io::repeat(0).take(1)),
        Err(UnpackError::Refused(_))
    ));
}

#[test]
fn names_folders_and_paths() {
    let long = |name: &str| {
        let mut builder = Builder::new(Vec::new());
        builder.append_data(&mut header(b"", FILE, 0o644, 0), name, io::empty()).unwrap();
        builder.into_inner().unwrap()
    };
    // 4 names of 255 bytes and the slashes between them make 1023 bytes.
    let most = [const { "n" }; 4].map(|letter| letter.repeat(255)).join("/");
    for name in ["n".repeat(255), format!("{}x", "d/".repeat(63)), most.clone(), format!("{most}/")]
    {
        assert!(Place::new().unpack(&long(&name), LIMITS).is_ok(), "{name}");
    }
    for (name, why) in [
        ("n".repeat(256), "a name of more than 255 bytes"),
        (format!("{}x", "d/".repeat(64)), "more than 64 folders inside of each other"),
        (format!("{most}/x"), "a path of more than 1024 bytes"),
    ] {
        let said = refusal(&long(&name), LIMITS);
        assert!(said.starts_with(&format!("it holds {why}: `")), "{said}");
        assert!(said.chars().count() < 140, "{said}");
    }
}

#[test]
fn headers_of_one_entry() {
    // The long name, its header, and the header of the entry have 1 MiB together.
    let of = |length: usize| {
        let name = "n".repeat(length);
        let mut archive =
            header(b"././@LongLink", EntryType::GNULongName, 0o644, name.len() as u64)
                .as_bytes()
                .to_vec();
        archive.extend(name.as_bytes());
        archive.extend(tar_of(&[("x", FILE, 0o644, "")]));
        refusal(&archive, LIMITS)
    };
    assert!(of((1 << 20) - 1024).contains("a path of more than 1024 bytes"));
    assert!(of((1 << 20) - 512).contains("the headers of an entry take more than 1 MiB"));
}

#[test]
fn the_window_of_a_zstandard_frame() {
    // Frame header with a window descriptor (RFC 8878, section 3.1.1.1.2), then one raw block with a tar.
    let of = |window: u8| {
        let tar = sound_tar();
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window];
        frame.extend_from_slice(&(u32::try_from(tar.len()).unwrap() << 3 | 1).to_le_bytes()[..3]);
        frame.extend(tar);
        Place::new().unpack(&frame, LIMITS).unwrap().format
    };
    assert_eq!(of(16 << 3), "tar.zst");
    // What cannot be opened may be anything, and is handed over as it is.
    assert_eq!(of(16 << 3 | 1), "file");
}
