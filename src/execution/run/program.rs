//! What the first bytes of a file say about whether it can be executed. Pure.

use crate::submission::excerpt::excerpt;

/// How much of a file is looked at.
pub(super) const HEAD_BYTES: usize = 4096;

/// Machines by their number in an ELF header: <https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>, and
/// the supplements of the processors.
const MACHINES: [(u16, &str); 7] = [
    (3, "x86"),
    (21, "powerpc64"),
    (22, "s390x"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];

/// The type of the program header that names the loader.
const PT_INTERP: u32 = 3;

/// What a file is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A script, with the program that its first line names.
    Script {
        /// The path behind `#!`.
        interpreter: String,
    },
    /// A compiled program.
    Elf {
        /// The processor that it is built for.
        machine: String,
        /// The loader that it asks for, when it is not static.
        loader: Option<String>,
    },
    /// Nothing of at all.
    Empty,
    /// Something else, such as a script without `#!`.
    Other,
}

/// Reads the first [`HEAD_BYTES`] of a file.
pub(super) fn kind(head: &[u8]) -> Kind {
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        // Only a carriage return at the end is kept: it belongs to the path, which is the whole trouble with it.
        let interpreter =
            line.trim_start_matches([' ', '\t']).split([' ', '\t']).next().unwrap_or_default();
        return Kind::Script { interpreter: interpreter.to_owned() };
    }
    match head {
        [] => Kind::Empty,
        [0x7f, b'E', b'L', b'F', ..] => elf(head).unwrap_or(Kind::Other),
        _ => Kind::Other,
    }
}

fn elf(head: &[u8]) -> Option<Kind> {
    let reader =
        Reader { bytes: head, is_64_bit: *head.get(4)? == 2, is_little: *head.get(5)? == 1 };
    let number = u16::try_from(reader.number(18, 2)?).ok()?;
    let known = MACHINES.iter().find(|(known, _)| *known == number);
    let machine = known.map_or_else(|| format!("machine {number}"), |(_, name)| (*name).to_owned());
    Some(Kind::Elf { machine, loader: reader.loader() })
}

struct Reader<'a> {
    bytes: &'a [u8],
    is_64_bit: bool,
    is_little: bool,
}

impl Reader<'_> {
    fn number(&self, offset: usize, length: usize) -> Option<u64> {
        let bytes = self.bytes.get(offset..offset.checked_add(length)?)?;
        let add = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if self.is_little {
            bytes.iter().rev().fold(0, add)
        } else {
            bytes.iter().fold(0, add)
        })
    }

    fn place(&self, offset: usize, length: usize) -> Option<usize> {
        usize::try_from(self.number(offset, length)?).ok()
    }

    fn loader(&self) -> Option<String> {
        let (headers, size, count) = if self.is_64_bit {
            (self.place(32, 8)?, self.place(54, 2)?, self.place(56, 2)?)
        } else {
            (self.place(28, 4)?, self.place(42, 2)?, self.place(44, 2)?)
        };
        (0..count).find_map(|index| {
            let header = headers.checked_add(index.checked_mul(size)?)?;
            if self.number(header, 4)? != u64::from(PT_INTERP) {
                return None;
            }
            let (start, length) = if self.is_64_bit {
                (self.place(header.checked_add(8)?, 8)?, self.place(header.checked_add(32)?, 8)?)
            } else {
                (self.place(header.checked_add(4)?, 4)?, self.place(header.checked_add(16)?, 4)?)
            };
            let path = self.bytes.get(start..start.checked_add(length)?)?;
            let path = path.split(|byte| *byte == 0).next()?;
            Some(String::from_utf8_lossy(path).into_owned())
        })
    }
}

/// Why the kernel found no file although this one is there.
pub(super) fn missing_part(program: &str, kind: &Kind) -> String {
    match kind {
        Kind::Script { interpreter } if interpreter.ends_with('\r') => format!(
            "{program} has Windows line ends, so its interpreter {} does not exist",
            excerpt(interpreter)
        ),
        Kind::Script { interpreter } => {
            format!(
                "{program} asks for the interpreter {}, which does not exist in the image",
                excerpt(interpreter)
            )
        }
        Kind::Elf { loader: Some(loader), .. } => format!(
            "{program} asks for the loader {}, which does not exist in the image: it was built for another C library or processor",
            excerpt(loader)
        ),
        Kind::Elf { loader: None, .. } | Kind::Empty | Kind::Other => {
            format!("{program} is there, but the kernel does not find something that it needs")
        }
    }
}

/// Why the kernel does not execute what it could read; `own` is the processor of this node.
pub(super) fn format_trouble(program: &str, kind: &Kind, own: &str) -> String {
    match kind {
        Kind::Elf { machine, .. } if machine != own => {
            format!("{program} is built for {machine}, and this node is {own}")
        }
        Kind::Elf { .. } => format!("{program} is a program that this kernel cannot execute"),
        Kind::Script { interpreter } if interpreter.is_empty() => {
            format!("{program} names no interpreter behind `#!`")
        }
        Kind::Script { interpreter } => format!(
            "{program} asks for the interpreter {}, which this kernel cannot execute",
            excerpt(interpreter)
        ),
        Kind::Empty => format!("{program} is empty"),
        Kind::Other => format!(
            "{program} is neither a program nor a script that begins with `#!`; no shell is asked to read it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header as a linker writes it, with one program header that names a loader.
    fn elf_file(machine: u8, loader: &str) -> Vec<u8> {
        let mut bytes = vec![0_u8; 200];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18] = machine;
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        bytes[64] = 3;
        bytes[64 + 8] = 120;
        bytes[64 + 32] = u8::try_from(loader.len()).unwrap() + 1;
        bytes[120..120 + loader.len()].copy_from_slice(loader.as_bytes());
        bytes
    }

    #[test]
    fn kinds_are_told_apart() {
        let script = |interpreter: &str| Kind::Script { interpreter: interpreter.to_owned() };
        assert_eq!(kind(b"#!/bin/sh\necho"), script("/bin/sh"));
        assert_eq!(kind(b"#! /usr/bin/env python3\n"), script("/usr/bin/env"));
        assert_eq!(kind(b"#!/bin/sh\r\n"), script("/bin/sh\r"));
        assert_eq!(kind(b"#!"), script(""));
        assert_eq!(kind(b""), Kind::Empty);
        assert_eq!(kind(b"echo hello"), Kind::Other);
        let loader = Some("/lib/ld-musl-aarch64.so.1".to_owned());
        assert_eq!(
            kind(&elf_file(183, "/lib/ld-musl-aarch64.so.1")),
            Kind::Elf { machine: "aarch64".to_owned(), loader }
        );
        assert_eq!(kind(b"\x7fELF"), Kind::Other);
    }

    #[test]
    fn a_real_program_has_this_machine_and_its_loader() {
        let own = std::fs::read("/bin/sh").unwrap();
        let Kind::Elf { machine, loader } = kind(&own[..HEAD_BYTES]) else { panic!("no ELF") };
        assert_eq!(machine, std::env::consts::ARCH);
        if let Some(loader) = loader {
            assert!(std::path::Path::new(&loader).exists(), "{loader}");
        }
    }

    #[test]
    fn every_cut_of_a_header_is_read() {
        let whole = elf_file(62, "/lib64/ld-linux-x86-64.so.2");
        for length in 0..whole.len() {
            kind(&whole[..length]);
        }
        for index in 0..whole.len() {
            let mut changed = whole.clone();
            changed[index] = 0xff;
            kind(&changed);
        }
    }

    #[test]
    fn sentences_name_the_trouble() {
        let elf = kind(&elf_file(183, "/lib/ld-linux-aarch64.so.1"));
        assert_eq!(
            format_trouble("`search`", &elf, "x86_64"),
            "`search` is built for aarch64, and this node is x86_64"
        );
        assert!(missing_part("`s`", &kind(b"#!/bin/sh\r\n")).contains("Windows line ends"));
        assert!(missing_part("`s`", &kind(b"#!/opt/py\n")).contains("`/opt/py`"));
        assert!(format_trouble("`s`", &Kind::Other, "x86_64").contains("begins with `#!`"));
    }
}
