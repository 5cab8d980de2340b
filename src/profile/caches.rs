//! Read-only claims in `run`, and the paths at which they hide nothing.

use serde::Serialize;

use super::names::{DnsSubdomain, quoted};
use super::reader::Place;
use crate::submission::problem::{Code, Fault};

/// A cache's path would hide something that the run needs.
pub static INVALID_CACHE_PATH: Code = Code {
    name: "profile-cache-path-invalid",
    summary: "a cache's path would hide something that the run needs",
    explanation: "A cache is mounted read-only into `run` at an absolute path without `.`, `..`, `//` or a `/` at its end, \
and neither at, below nor above what harness, the kernel and the image's own programs use: /harness, /tmp, /dev, /proc, \
/sys, /etc, /run, /var/run, /boot, /bin, /sbin, /lib, /lib32, /lib64, /libx32, /usr/bin, /usr/sbin and /usr/lib. Two \
caches do not contain each other.",
};

/// A claim that is mounted read-only into `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Cache {
    /// The name of the `PersistentVolumeClaim`.
    pub claim: DnsSubdomain,
    /// Where it is mounted in `run`.
    pub mount_path: MountPath,
}

/// An absolute path at which a cache may be mounted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MountPath(
    #[cfg_attr(test, schemars(regex(pattern = r"^(/[-A-Za-z0-9._+@]+)+$"), length(max = 512)))]
    String,
);

/// What harness, the kernel and the image's own programs use.
const RESERVED_PATHS: [&str; 18] = [
    "/harness",
    "/tmp",
    "/dev",
    "/proc",
    "/sys",
    "/etc",
    "/run",
    "/var/run",
    "/boot",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
];

impl MountPath {
    /// Parses a path; the fault says which rule it breaks.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let fault = |why: &str| {
            Fault::new(
                &INVALID_CACHE_PATH,
                format!("{}, {why}", quoted(text)),
                "an absolute, plain path that hides nothing of harness, the kernel or the image",
                "choose a path such as `/cache/models`",
            )
        };
        let Some(rest) = text.strip_prefix('/') else {
            return Err(fault("which is not absolute"));
        };
        if text.len() > 512 {
            return Err(fault("which is longer than 512 bytes"));
        }
        if rest.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(fault("which has an empty part, `.` or `..`"));
        }
        let plain = |b: u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'.' | b'_' | b'+' | b'@')
        };
        if !text.bytes().all(plain) {
            return Err(fault("which has a character other than letters, digits and -._+@"));
        }
        if let Some(taken) = RESERVED_PATHS.iter().find(|taken| overlap(text, taken)) {
            return Err(fault(&format!("which overlaps {taken}")));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether one path is the other or lies below it.
fn overlap(one: &str, other: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    below(one, other) || below(other, one)
}

/// Reads `caches`.
pub(super) fn read_caches(place: &Place<'_>) -> Option<Vec<Cache>> {
    let caches = place.list(cache)?;
    for (index, one) in caches.iter().enumerate() {
        let path = one.mount_path.as_str();
        if caches[..index].iter().any(|other| overlap(path, other.mount_path.as_str())) {
            place.report(Fault::new(
                &INVALID_CACHE_PATH,
                format!("{}, which overlaps another cache's path", quoted(path)),
                "caches at paths of which none contains another",
                "choose another path",
            ));
            return None;
        }
    }
    Some(caches)
}

fn cache(place: &Place<'_>) -> Option<Cache> {
    let mut fields = place.fields()?;
    let claim = fields.required("claim").and_then(|place| place.parse(DnsSubdomain::parse));
    let mount_path = fields.required("mount_path").and_then(|place| place.parse(MountPath::parse));
    fields.finish();
    Some(Cache { claim: claim?, mount_path: mount_path? })
}
