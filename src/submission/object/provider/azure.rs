//! Azure Blob Storage, in every cloud, also through the Data Lake endpoint and the read-only replica.

use super::{
    Found, IF_NONE_MATCH, Keys, Place, S3Guard, Store, check_bucket, unknown_form, wrong_bucket,
    wrong_key,
};
use crate::submission::object::authentication::Family;
use crate::submission::object::authority::Authority;
use crate::submission::object::path::ObjectPath;
use crate::submission::object::query::Dialect;
use crate::submission::problem::Fault;

pub(super) static STORE: Store = Store {
    locate,
    // Accounts with a hierarchical name space fold slashes and dots; the URL does not show which kind it is.
    keys: Keys::Fuzzy,
    // 1024 characters of up to four bytes; characters are counted below.
    longest_key: 4096,
    dialects: &[&DIALECT],
    families: &[Family::AzureSas],
    guard: S3Guard::Free(IF_NONE_MATCH),
};

pub(super) static DIALECT: Dialect = Dialect {
    version: &["snapshot", "versionid"],
    harmless: &["timeout", "api-version"],
    headers: &[],
    refused: &["comp", "restype", "action", "resource", "mode", "blockid"],
};

/// Domains of the clouds, with what is added to the account's name outside the public one.
const CLOUDS: &[(&str, &str)] = &[
    ("core.windows.net", ""),
    ("storage.azure.net", ""),
    ("core.chinacloudapi.cn", ".chinacloudapi.cn"),
    ("core.usgovcloudapi.net", ".usgovcloudapi.net"),
    ("core.cloudapi.de", ".cloudapi.de"),
];

fn locate(authority: &Authority, path: &ObjectPath<'_>) -> Result<Option<Found>, Fault> {
    for (domain, cloud) in CLOUDS {
        let Some(labels) = authority.labels_before(domain) else { continue };
        let (account, service) = match labels.as_slice() {
            [account, service] if *domain != "storage.azure.net" => (*account, *service),
            [account, zone, service] if *domain == "storage.azure.net" && is_zone(zone) => {
                (*account, *service)
            }
            _ => return Err(unknown_form("Azure Blob Storage")),
        };
        if !matches!(service, "blob" | "dfs") {
            return Err(unknown_form("Azure Blob Storage"));
        }
        return place(account, service, cloud, path).map(|place| Some(Found::At(place)));
    }
    Ok(None)
}

/// The zone of an account with DNS zone endpoints, `z00` to `z99`.
fn is_zone(label: &str) -> bool {
    label.strip_prefix('z').is_some_and(|digits| {
        (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn place(account: &str, service: &str, cloud: &str, path: &ObjectPath<'_>) -> Result<Place, Fault> {
    let (account, secondary) = match account.strip_suffix("-secondary") {
        Some(account) => (account, true),
        None => (account, false),
    };
    let plain = account.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !plain || !(3..=24).contains(&account.len()) {
        return Err(unknown_form("Azure Blob Storage"));
    }
    let (container, blob) = match path.first_and_rest() {
        // A blob without a container lies in the root container.
        (blob, None) => ("$root".to_owned(), blob),
        (container, Some(blob)) => (container, blob),
    };
    check_container(&container)?;
    if container == "$root" && blob.contains('/') {
        return Err(wrong_key(
            "a slash in the name of a blob in the root container".to_owned(),
            "a name without `/`".to_owned(),
        ));
    }
    if blob.chars().count() > 1024 {
        return Err(wrong_key(
            format!("a blob name of {} characters", blob.chars().count()),
            "at most 1024 characters".to_owned(),
        ));
    }
    let mut place = Place::new(format!("{account}{cloud}"), container, blob);
    place.read_only = match service {
        _ if secondary => Some("the `-secondary` host is a read-only replica"),
        "dfs" => Some("the Data Lake host (`dfs`) does not take the Put Blob operation"),
        _ => None,
    };
    Ok(place)
}

fn check_container(container: &str) -> Result<(), Fault> {
    if matches!(container, "$root" | "$web" | "$logs") {
        return Ok(());
    }
    if container.contains('/') {
        return Err(wrong_bucket("an encoded slash in the container, the first part of the path"));
    }
    check_bucket(container, 63, "")?;
    if container.contains("--") {
        return Err(wrong_bucket("two hyphens side by side in a container name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::submission::object::testing::{ambiguous, differ, identity, refused};

    #[test]
    fn forms_of_one_blob() {
        for host in [
            "exacct.blob.core.windows.net",
            "exacct-secondary.blob.core.windows.net",
            "exacct.dfs.core.windows.net",
            "exacct.z07.blob.storage.azure.net",
            "EXACCT.BLOB.core.windows.net:443",
        ] {
            assert_eq!(
                identity(&format!("https://{host}/ex-cont/in/a.bin")),
                "azure exacct ex-cont in/a.bin",
                "{host}"
            );
        }
        for rest in ["a.bin", "$root/a.bin", "%24root/a.bin"] {
            let url = format!("https://exacct.blob.core.windows.net/{rest}");
            assert_eq!(identity(&url), "azure exacct $root a.bin");
        }
        assert!(differ(
            "https://exacct.blob.core.chinacloudapi.cn/ex-cont/a",
            "https://exacct.blob.core.windows.net/ex-cont/a"
        ));
        assert!(differ(
            "https://exacct.blob.core.usgovcloudapi.net/ex-cont/a",
            "https://exacct.blob.core.windows.net/ex-cont/a"
        ));
    }

    #[test]
    fn a_blob_has_at_most_1024_characters() {
        let url = |name: &str| format!("https://exacct.blob.core.windows.net/ex-cont/{name}");
        let longest = "a".repeat(1024);
        assert_eq!(identity(&url(&longest)), format!("azure exacct ex-cont {longest}"));
        assert_eq!(refused(&url(&format!("{longest}a"))), "url-key");
    }

    #[test]
    fn folded_spellings_are_ambiguous() {
        let base = "https://exacct.blob.core.windows.net/ex-cont/in/a.bin";
        for other in ["in//a.bin", "in/a.bin/", "in/a.bin.", "/in/a.bin"] {
            let other = format!("https://exacct.blob.core.windows.net/ex-cont/{other}");
            assert!(ambiguous(base, &other), "{other}");
        }
        assert!(differ(base, "https://exacct.blob.core.windows.net/ex-cont/In/a.bin"));
        assert!(differ(base, "https://otheracct.blob.core.windows.net/ex-cont/in/a.bin"));
    }

    #[test]
    fn refused_urls() {
        for (rest, code) in [
            ("exacct.blob.core.windows.net/", "url-key"),
            ("exacct.blob.core.windows.net/ex-cont/", "url-key"),
            ("exacct.blob.core.windows.net/Ex-Cont/a", "url-bucket"),
            ("exacct.blob.core.windows.net/ex--cont/a", "url-bucket"),
            ("exacct.blob.core.windows.net/ex-cont%2Fa/b", "url-bucket"),
            ("exacct.blob.core.windows.net/%24root/a/b", "url-key"),
            ("exacct.file.core.windows.net/ex-cont/a", "url-host-form"),
            ("exacct.z13.web.core.windows.net/a", "url-host-form"),
            ("exacct.blob.storage.azure.net/ex-cont/a", "url-host-form"),
            ("exacct.z07.blob.core.windows.net/ex-cont/a", "url-host-form"),
            ("exacct.z123.blob.storage.azure.net/ex-cont/a", "url-host-form"),
            ("exacct.zab.blob.storage.azure.net/ex-cont/a", "url-host-form"),
            ("exacct.z.blob.storage.azure.net/ex-cont/a", "url-host-form"),
            ("exacct.privatelink.blob.core.windows.net/ex-cont/a", "url-host-form"),
            ("ex-acct.blob.core.windows.net/ex-cont/a", "url-host-form"),
            ("exacct.blob.core.windows.net:8443/ex-cont/a", "url-port"),
            ("exacct.blob.core.windows.net/ex-cont/a?comp=metadata", "url-subresource"),
            ("exacct.blob.core.windows.net/ex-cont?restype=container", "url-subresource"),
            ("exacct.blob.core.windows.net/ex-cont/a?snapshot=1&versionid=2", "url-subresource"),
            ("exacct.blob.core.windows.net/ex-cont/a?SE=2026-12-01&sig=x", "url-parameter-case"),
        ] {
            assert_eq!(refused(&format!("https://{rest}")), code, "{rest}");
        }
    }
}
