//! From single arguments to values, with what is allowed where one cannot be read. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::{Since, Wait};
use crate::profile::Quantity;
use crate::submission::{AttemptId, Fault, MissionId, Namespace, PinnedImage, Sha256Digest};

pub(super) fn parse_attempt_id(text: &str) -> Result<AttemptId, String> {
    AttemptId::parse(text).map_err(|fault| in_words(&fault))
}

pub(super) fn parse_mission_id(text: &str) -> Result<MissionId, String> {
    MissionId::parse(text).map_err(|fault| in_words(&fault))
}

pub(super) fn parse_evaluator_version(text: &str) -> Result<Sha256Digest, String> {
    Sha256Digest::parse_prefixed(text).map_err(|fault| in_words(&fault))
}

/// Checks an image and keeps its spelling.
pub(super) fn parse_image(text: &str) -> Result<String, String> {
    PinnedImage::parse(text).map(|_| text.to_owned()).map_err(|fault| in_words(&fault))
}

pub(super) fn parse_pinned_image(text: &str) -> Result<PinnedImage, String> {
    PinnedImage::parse(text).map_err(|fault| in_words(&fault))
}

pub(super) fn parse_digest(text: &str) -> Result<Sha256Digest, String> {
    Sha256Digest::parse(text).map_err(|fault| in_words(&fault))
}

/// A quantity of bytes, as the Job passes it.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let quantity = Quantity::parse(text).map_err(|fault| in_words(&fault))?;
    quantity.whole().ok_or_else(|| "allowed: a whole number of bytes".to_owned())
}

pub(super) fn parse_namespace(text: &str) -> Result<Namespace, String> {
    Namespace::parse(text).map_err(|fault| in_words(&fault))
}

fn in_words(fault: &Fault) -> String {
    format!("found {}; allowed: {}", fault.found, fault.allowed)
}

pub(super) fn parse_time(text: &str) -> Result<Timestamp, String> {
    crate::submission::parse_time(text).map_err(|fault| in_words(&fault))
}

pub(super) fn parse_wait(text: &str) -> Result<Wait, String> {
    if text.is_empty() {
        return Ok(Wait(None));
    }
    match parse_duration(text)? {
        Duration::ZERO => {
            Err("allowed: at least 1s; without `--wait` it is looked once".to_owned())
        }
        duration => Ok(Wait(Some(duration))),
    }
}

pub(super) fn parse_since(text: &str) -> Result<Since, String> {
    parse_duration(text).map(Since::Ago).or_else(|_| {
        parse_time(text)
            .map(Since::Time)
            .map_err(|why| format!("{why}; or so long ago: `30m`, `2h`, `7d`"))
    })
}

pub(super) fn parse_phase(text: &str) -> Result<crate::status::Phase, String> {
    let phases = crate::status::Phase::ALL;
    phases
        .into_iter()
        .find(|phase| phase.name() == text)
        .ok_or_else(|| format!("allowed: {}", phases.map(crate::status::Phase::name).join(", ")))
}

/// `90`, `90s`, `10m`, `2h`, `7d`, `2w`; at most 365 days.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let allowed = || {
        "allowed: a whole number of `s`, `m`, `h`, `d` or `w`, such as `90s`, `10m`, `2h`, at most 365d"
            .to_owned()
    };
    let digits = text.trim_end_matches(['s', 'm', 'h', 'd', 'w']);
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(allowed()),
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| is_number).ok_or_else(allowed)?;
    let seconds = number.checked_mul(unit).filter(|seconds| *seconds <= 365 * 86_400);
    seconds.map(Duration::from_secs).ok_or_else(allowed)
}

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..=600) => Ok(Duration::from_secs(seconds)),
        _ => Err("allowed: whole seconds from 1 to 600".to_owned()),
    }
}

pub(super) fn parse_job_name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("job/").unwrap_or(text);
    let digits = name.strip_prefix("prediction-").unwrap_or_default();
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() == 32 && digits.bytes().all(is_digit) {
        Ok(name.to_owned())
    } else {
        Err("allowed: `prediction-` and 32 hexadecimal digits, as the receipt names the Job"
            .to_owned())
    }
}

/// How long a Job must have been over: a [`parse_duration`] of at least an hour.
pub(super) fn parse_retention(text: &str) -> Result<Duration, String> {
    let retention = parse_duration(text)?;
    if retention < crate::ledger::survey::LEAST_RETENTION {
        return Err("allowed: at least 1h, such as `12h` or `7d`".to_owned());
    }
    Ok(retention)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retention_is_at_least_an_hour() {
        for (text, hours) in [("1h", 1), ("60m", 1), ("7d", 168), ("2w", 336), ("0001h", 1)] {
            assert_eq!(parse_retention(text), Ok(Duration::from_hours(hours)), "{text}");
        }
        for wrong in [
            "",
            "h",
            "7",
            "-1d",
            "+7d",
            "59m",
            "0d",
            "1.5h",
            "7 d",
            "7D",
            "1h1m",
            "99999999999999999999d",
            "ä",
        ] {
            assert!(parse_retention(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_job_is_named_as_receipts_name_it() {
        let name = format!("prediction-{}", "0a".repeat(16));
        assert_eq!(parse_job_name(&name), Ok(name.clone()));
        assert_eq!(parse_job_name(&format!("job/{name}")), Ok(name.clone()));
        for wrong in
            ["", "prediction-", "../x", &name[1..], &name.to_uppercase(), &format!("{name}0")]
        {
            assert!(parse_job_name(wrong).is_err(), "{wrong}");
        }
    }
}
