//! The web pages of stores' consoles: what a browser's address bar shows is no object, and a pod would fetch a login page.

use super::URL_LOGIN_HOST;
use crate::submission::problem::Fault;

/// Hosts of consoles, and what to do instead. A host stands for itself and for every host below it, as
/// `eu-west-1.console.aws.amazon.com`.
const CONSOLES: &[(&str, &str)] = &[
    ("console.aws.amazon.com", AWS),
    ("console.amazonaws.cn", AWS),
    ("console.amazonaws-us-gov.com", AWS),
    ("s3.console.aws.amazon.com", AWS),
    ("console.cloud.google.com", "sign a URL with `gcloud storage sign-url`"),
    ("portal.azure.com", AZURE),
    ("portal.azure.cn", AZURE),
    ("portal.azure.us", AZURE),
    ("console.aliyun.com", OSS),
    ("console.alibabacloud.com", OSS),
    ("console.cloud.tencent.com", COS),
    ("console.tencentcloud.com", COS),
    ("console.huaweicloud.com", OBS),
    ("console-intl.huaweicloud.com", OBS),
    ("storage.huaweicloud.com", OBS),
    ("dash.cloudflare.com", "sign a URL on `ACCOUNT.r2.cloudflarestorage.com`"),
    ("cloud.digitalocean.com", "sign a URL on `BUCKET.REGION.digitaloceanspaces.com`"),
    ("secure.backblaze.com", "sign a URL on `BUCKET.s3.REGION.backblazeb2.com`"),
];

const AWS: &str = "sign a URL with `aws s3 presign` or an SDK";
const AZURE: &str = "make a shared access signature on `ACCOUNT.blob.core.windows.net`";
const OSS: &str = "sign a URL with `ossutil presign`";
const COS: &str = "sign a URL on `BUCKET.cos.REGION.myqcloud.com`";
const OBS: &str = "sign a URL on `BUCKET.obs.REGION.myhuaweicloud.com`";

/// Refuses a web page of a console by the text of its URL, before anything else is said about the text: such URLs
/// have fragments and more that no object's URL has, and that is not what is wrong with them.
pub(crate) fn refuse(raw: &str) -> Result<(), Fault> {
    let Some(host) = host(raw) else { return Ok(()) };
    let below = |console: &str| {
        host.strip_suffix(console).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    match CONSOLES.iter().find(|(console, _)| below(console)) {
        None => Ok(()),
        Some((console, remedy)) => Err(Fault::new(
            &URL_LOGIN_HOST,
            format!("a web page of {console}, not an object"),
            "the URL of one object on the store's API host",
            *remedy,
        )),
    }
}

fn host(raw: &str) -> Option<String> {
    let (scheme, rest) = raw.split_once("://")?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return None;
    }
    let authority = rest.split(['/', '?', '#', ':']).next()?;
    Some(authority.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use crate::submission::ObjectUrl;
    use crate::submission::object::testing::refused;

    #[test]
    fn a_page_of_a_console_is_named_whatever_else_its_url_holds() {
        for page in [
            "https://console.cloud.google.com/storage/browser/_details/b/k;tab=live_object?project=p",
            "https://s3.console.aws.amazon.com/s3/object/ex-bkt?region=us-west-2&prefix=a",
            "https://us-west-2.console.aws.amazon.com/s3/object/ex-bkt?prefix=a b#top",
            "https://Console.AWS.amazon.com/s3/home",
            "https://console.amazonaws.cn/s3/buckets/b",
            "https://portal.azure.com/#@example.org/resource/subscriptions/1/overview",
            "https://oss.console.aliyun.com/bucket/oss-cn-hangzhou/b/object",
            "https://console.cloud.tencent.com/cos/bucket?bucket=b&region=c",
            "https://storage.huaweicloud.com/obs/#/obs/manager/buckets",
            "http://dash.cloudflare.com/1/r2/default/buckets/b",
            "https://cloud.digitalocean.com:443/spaces/b",
            "https://secure.backblaze.com/b2_buckets.htm",
        ] {
            assert_eq!(refused(page), "url-login-host", "{page}");
        }
    }

    #[test]
    fn no_part_of_the_page_is_repeated() {
        let fault = ObjectUrl::parse("https://portal.azure.com/canary?canary#canary").unwrap_err();
        assert!(!format!("{fault:?}").contains("canary"), "{fault:?}");
    }

    #[test]
    fn a_host_that_only_looks_like_a_console_is_another_host() {
        for url in [
            "https://my-console.aws.amazon.com.example.org/b/k",
            "https://notportal.azure.com/b/k",
            "https://minio.example.org/console.cloud.google.com/k",
        ] {
            assert!(ObjectUrl::parse(url).is_ok(), "{url}");
        }
    }
}
