//! Forms of archives that tools write: extended headers, sparse files, streamed and large zips.

use super::*;

const FILE: EntryType = EntryType::Regular;

/// One record of an extended header: its own length, a space, the key, the value, a line feed.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n").into_bytes()
}

fn padded(content: &[u8]) -> Vec<u8> {
    let mut bytes = content.to_vec();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// An extended header of this kind and an entry behind it.
fn extended(kind: EntryType, records: &[u8], entry: &[u8]) -> Vec<u8> {
    let before = header(b"pax", kind, 0o644, records.len() as u64);
    [before.as_bytes(), &padded(records)[..], entry].concat()
}

fn refusal(archive: &[u8]) -> String {
    match Place::new().unpack(archive, LIMITS) {
        Err(UnpackError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn extended_headers_name_and_size() {
    let long = format!("{}/file", "f".repeat(200));
    let entry = tar_of(&[("short", FILE, 0o644, "content")]);
    // The header says 0, and the record says 7.
    let mut small = header(b"short", FILE, 0o644, 0).as_bytes().to_vec();
    small.extend(padded(b"content"));
    small.extend([0; 1024]);
    for (records, entry) in [
        ([record("mtime", "1700000000.5"), record("path", &long)].concat(), &entry),
        ([record("path", &long), record("size", "7"), record("mtime", "-1")].concat(), &small),
        ([record("mtime", "99999999999999999999"), record("path", &long)].concat(), &entry),
        ([record("comment", "path=x"), record("path", &long), record("uid", "x")].concat(), &entry),
    ] {
        let place = Place::new();
        let unpacked =
            place.unpack(&extended(EntryType::XHeader, &records, entry), LIMITS).unwrap();
        assert_eq!((unpacked.format, unpacked.entries, unpacked.bytes), ("tar", 2, 7));
        assert_eq!(fs::read(place.target().join(&long)).unwrap(), b"content");
    }
}

#[test]
fn extended_headers_lead_out_no_more_than_others() {
    let file = tar_of(&[("x", FILE, 0o644, "content")]);
    let link = tar_of(&[("x", EntryType::Symlink, 0o777, "y")]);
    for (records, entry, wrong) in [
        (record("path", "../x"), &file, "a path with `..` in it"),
        (record("path", "/x"), &file, "an absolute path"),
        (record("path", ""), &file, "an empty name"),
        (record("linkpath", "../../x"), &link, "a link that leads out of the archive"),
        (record("linkpath", "/etc/passwd"), &link, "a link to an absolute or odd path"),
        ([record("path", "a"), record("path", "b")].concat(), &file, "says the same thing twice"),
        (record("size", "-1"), &file, "whose size is no number"),
        (record("size", "99999999999999999999999"), &file, "whose size is no number"),
        (record("SCHILY.xattr.user.x", "1\n8 path=x"), &file, "a line feed in a value"),
        (b"5 path=\n".to_vec(), &file, "broken"),
        (record("size", "9000000"), &file, "is broken"),
    ] {
        let why = refusal(&extended(EntryType::XHeader, &records, entry));
        assert!(why.contains(wrong), "{why} instead of {wrong}");
    }
}

#[test]
fn a_global_header_may_comment_and_not_decide() {
    let entry = tar_of(&[("x", FILE, 0o644, "content")]);
    let commit = record("comment", &"5".repeat(40));
    let archive = extended(EntryType::XGlobalHeader, &commit, &entry);
    let place = Place::new();
    assert_eq!(place.unpack(&archive, LIMITS).unwrap().entries, 1);
    assert!(!place.target().join("pax").exists());
    for records in [record("path", "y"), record("size", "1"), record("GNU.sparse.major", "1")] {
        let why = refusal(&extended(EntryType::XGlobalHeader, &records, &entry));
        assert!(why.contains("names or sizes the entries behind it"), "{why}");
    }
    let why = refusal(&extended(EntryType::XGlobalHeader, &vec![b'x'; (1 << 20) + 1], &entry));
    assert!(why.contains("a global header of more than 1 MiB"), "{why}");
}

#[test]
fn long_names_and_links_of_gnu() {
    let name = format!("{}/{}", "a".repeat(150), "b".repeat(150));
    let mut builder = Builder::new(Vec::new());
    builder.append_data(&mut header(b"", FILE, 0o644, 4), &name, &b"data"[..]).unwrap();
    let mut link = header(b"", EntryType::Link, 0o644, 0);
    builder.append_link(&mut link, "hard", &name).unwrap();
    let mut link = header(b"", EntryType::Symlink, 0o777, 0);
    builder.append_link(&mut link, "soft", &name).unwrap();
    let archive = builder.into_inner().unwrap();
    let place = Place::new();
    assert_eq!(place.unpack(&archive, LIMITS).unwrap().entries, 4);
    for found in [name.as_str(), "hard", "soft"] {
        assert_eq!(fs::read(place.target().join(found)).unwrap(), b"data", "{found}");
    }
    let mut builder = Builder::new(Vec::new());
    let mut link = header(b"", EntryType::Symlink, 0o777, 0);
    builder.append_link(&mut link, "soft", "../".repeat(60) + "etc").unwrap();
    assert!(refusal(&builder.into_inner().unwrap()).contains("leads out"));
}

/// A sparse file as GNU tar has had it for ever: data of 512 bytes at 1024, then a hole up to `size`.
fn sparse(size: u64) -> Vec<u8> {
    let mut sparse = header(b"holes", EntryType::GNUSparse, 0o644, 512);
    let gnu = sparse.as_gnu_mut().unwrap();
    let octal = |field: &mut [u8], value: u64| {
        field.copy_from_slice(format!("{value:0width$o}\0", width = field.len() - 1).as_bytes());
    };
    octal(&mut gnu.sparse[0].offset, 1024);
    octal(&mut gnu.sparse[0].numbytes, 512);
    octal(&mut gnu.sparse[1].offset, size);
    octal(&mut gnu.sparse[1].numbytes, 0);
    octal(&mut gnu.realsize, size);
    sparse.set_cksum();
    [sparse.as_bytes(), &[b'd'; 512][..], &[0; 1024]].concat()
}

#[test]
fn sparse_files_have_their_holes() {
    let place = Place::new();
    let unpacked = place.unpack(&sparse(5000), LIMITS).unwrap();
    assert_eq!((unpacked.entries, unpacked.bytes), (1, 5000));
    let content = fs::read(place.target().join("holes")).unwrap();
    assert_eq!(content, [&[0; 1024][..], &[b'd'; 512], &[0; 5000 - 1536]].concat());
    // Holes take room in the count, so that no small archive promises a large disk.
    let ended = Place::new().unpack(&sparse(1 << 30), LIMITS);
    assert!(matches!(ended, Err(UnpackError::TooLarge(_))), "{ended:?}");
}

#[test]
fn sparse_files_of_the_pax_form_are_not_taken_for_others() {
    let entry = tar_of(&[("GNUSparseFile.0/holes", FILE, 0o644, "1\n0\n4\ndata")]);
    let records = [record("GNU.sparse.major", "1"), record("GNU.sparse.name", "holes")].concat();
    let why = refusal(&extended(EntryType::XHeader, &records, &entry));
    assert!(why.contains("--format=gnu"), "{why}");
}

#[test]
fn numbers_beyond_octal() {
    let sized = |field: [u8; 12]| {
        let mut header = header(b"x", FILE, 0o644, 0);
        header.as_old_mut().size = field;
        header.set_cksum();
        [header.as_bytes(), &padded(b"content")[..], &[0; 1024]].concat()
    };
    let mut base256 = [0; 12];
    (base256[0], base256[11]) = (0x80, 7);
    assert_eq!(Place::new().unpack(&sized(base256), LIMITS).unwrap().bytes, 7);
    for wrong in [
        [0xff; 12],
        *b"77777777777\0",
        *b"not a number",
        [0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    ] {
        let ended = Place::new().unpack(&sized(wrong), LIMITS);
        assert!(ended.is_err(), "{wrong:?}: {ended:?}");
    }
}

#[test]
fn a_tar_without_the_mark_of_its_end_may_have_been_cut() {
    let tar = sound_tar();
    let entries = tar.len() - 1024;
    for archive in [tar[..entries].to_vec(), gz(&tar[..entries]), zst(&tar[..entries])] {
        let why = refusal(&archive);
        assert_eq!(why, "it ends without the mark of its end, so it may have been cut");
    }
    // One block of zeros is enough for every tool, and more than two are usual.
    for zeros in [512, 1024, 10240] {
        let archive = [&tar[..entries], &vec![0; zeros]].concat();
        assert_eq!(Place::new().unpack(&archive, LIMITS).unwrap().entries, 7);
    }
}

fn zip_with(options: zip::write::SimpleFileOptions) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.start_file("a/data", options).unwrap();
    writer.write_all(b"content content content").unwrap();
    writer.finish().unwrap().into_inner()
}

/// The place of the end record, which has no comment here.
fn end_of(zip: &[u8]) -> usize {
    zip.len() - 22
}

#[test]
fn zips_that_were_streamed_or_are_large() {
    let mut stream = zip::ZipWriter::new_stream(Vec::new());
    stream.start_file("a/data", zip::write::SimpleFileOptions::default()).unwrap();
    stream.write_all(b"content content content").unwrap();
    let streamed = stream.finish().unwrap().into_inner();
    assert_eq!(streamed[6] & 8, 8, "sizes stand behind the content");
    let large = zip_with(zip::write::SimpleFileOptions::default().large_file(true));
    let small = zip_with(zip::write::SimpleFileOptions::default());
    // The end records of zip64 (APPNOTE.TXT, 4.3.14 and 4.3.15), and what points to them.
    let at = end_of(&small);
    let (directory, end) = (&small[..at], &small[at..]);
    let field = |range: std::ops::Range<usize>| {
        let mut bytes = [0; 8];
        bytes[..range.len()].copy_from_slice(&end[range]);
        u64::from_le_bytes(bytes)
    };
    let mut sixty_four = directory.to_vec();
    sixty_four.extend(b"PK\x06\x06");
    sixty_four.extend(44_u64.to_le_bytes());
    sixty_four.extend([45, 0, 45, 0]);
    sixty_four.extend([0; 8]);
    for number in [field(8..10), field(10..12), field(12..16), field(16..20)] {
        sixty_four.extend(number.to_le_bytes());
    }
    sixty_four.extend(b"PK\x06\x07\0\0\0\0");
    sixty_four.extend((directory.len() as u64).to_le_bytes());
    sixty_four.extend(1_u32.to_le_bytes());
    sixty_four.extend(&end[..8]);
    sixty_four.extend([0xff; 12]);
    sixty_four.extend(&end[20..]);
    for archive in [streamed, large, small, sixty_four] {
        let place = Place::new();
        let unpacked = place.unpack(&archive, LIMITS).unwrap();
        assert_eq!((unpacked.format, unpacked.entries, unpacked.bytes), ("zip", 2, 23));
        assert_eq!(fs::read(place.target().join("a/data")).unwrap(), b"content content content");
    }
}

#[test]
fn zips_that_cannot_be_read_are_named() {
    let sound = zip_with(zip::write::SimpleFileOptions::default());
    let directory = u32::from_le_bytes(sound[end_of(&sound) + 16..][..4].try_into().unwrap());
    let directory = usize::try_from(directory).unwrap();
    let changed = |changes: &[(usize, u8)]| {
        let mut archive = sound.clone();
        for (at, value) in changes {
            archive[*at] = *value;
        }
        archive
    };
    for (archive, wrong) in [
        // Bit 0 of the flags, in the local header and in the directory.
        (changed(&[(6, 1), (directory + 8, 1)]), "it holds an encrypted file: `a/data`"),
        // Method 12 is bzip2, 9 is deflate64.
        (
            changed(&[(8, 12), (directory + 10, 12)]),
            "compressed in a way that harness does not read",
        ),
        (changed(&[(8, 9), (directory + 10, 9)]), "compressed in a way that harness does not read"),
        // The checksum.
        (changed(&[(14, 1), (directory + 16, 1)]), "a/data"),
        ([&sound[..], b"garbage"].concat(), "it goes on behind its end"),
        ([&sound[..], &sound[..]].concat(), "it does not begin at its beginning"),
        (sound[..end_of(&sound)].to_vec(), "it is broken"),
    ] {
        let why = refusal(&archive);
        assert!(why.contains(wrong), "{why} instead of {wrong}");
    }
    // A comment is no garbage.
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.set_comment("made by hand").unwrap();
    writer.start_file("x", zip::write::SimpleFileOptions::default()).unwrap();
    let commented = writer.finish().unwrap().into_inner();
    assert_eq!(Place::new().unpack(&commented, LIMITS).unwrap().entries, 1);
}

#[test]
fn links_lead_where_they_may() {
    let file = ("a/b/data", FILE, 0o644, "data");
    let link = |name, target| (name, EntryType::Symlink, 0o777, target);
    let hard = |name, target| (name, EntryType::Link, 0o644, target);
    let place = Place::new();
    let archive = tar_of(&[
        link("before", "a/b/data"),
        file,
        hard("a/hard", "a/b/data"),
        hard("a/again", "a/hard"),
        link("a/b/up", "../../before"),
        link("a/folder", "b"),
        link("dangling", "not/there"),
        link("self", "self"),
        link("here", "."),
    ]);
    place.unpack(&archive, LIMITS).unwrap();
    for name in ["before", "a/hard", "a/again", "a/b/up", "a/folder/data", "here/a/folder/data"] {
        assert_eq!(fs::read(place.target().join(name)).unwrap(), b"data", "{name}");
    }
    for (entries, wrong) in [
        // Through a link, whatever it leads to.
        (
            &[file, link("l", "a"), ("l/x", FILE, 0o644, "x")][..],
            "a folder where a file or link is",
        ),
        (&[file, link("l", "a"), hard("x", "l/b/data")], "no earlier file"),
        (&[link("l", "a"), file, hard("x", "l")], "no earlier file"),
        (&[file, hard("x", "a")], "no earlier file"),
        (&[hard("x", "x")], "no earlier file"),
        (&[file, hard("x", "A/b/data")], "no earlier file"),
        (&[file, hard("x", "/a/b/data")], "an absolute path"),
        (&[file, hard("../x", "a/b/data")], "a path with `..` in it"),
        (&[file, hard("a/b/data", "a/b/data")], "a name that is there twice"),
        (&[link("l", "a"), link("L", "a")], "letter case or Unicode form"),
        (
            &[link("l", "a"), ("l/", EntryType::Directory, 0o755, "")],
            "a folder where a file or link is",
        ),
        (&[("./", EntryType::Symlink, 0o777, "a")], "a file without a name"),
    ] {
        let why = refusal(&tar_of(entries));
        assert!(why.contains(wrong), "{why} instead of {wrong}");
    }
}

#[test]
fn names_that_meet_on_some_file_system() {
    for (one, other) in [
        ("x", "X"),
        ("\u{e9}", "e\u{301}"),
        ("\u{e9}", "\u{c9}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{fb01}x", "FIX"),
        ("K", "\u{212a}"),
        ("x", "x."),
        ("x", "x "),
        ("x.", "X "),
    ] {
        for (one, other) in
            [(one.to_owned(), other.to_owned()), (format!("{one}/a"), format!("{other}/b"))]
        {
            for archive in [
                tar_of(&[(&one, FILE, 0o644, "1"), (&other, FILE, 0o644, "2")]),
                zip_of(&[(&one, 0o644, "1"), (&other, 0o644, "2")]),
            ] {
                let why = refusal(&archive);
                assert!(why.contains("letter case or Unicode form only"), "{one} {other}: {why}");
            }
        }
    }
}
