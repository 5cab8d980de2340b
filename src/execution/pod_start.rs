//! When an attempt's time began: the pod's clock, which no container is told, or the command's where there is no pod.
//!
//! The kubelet counts `activeDeadlineSeconds` from the pod's `status.startTime`, which is set just before its volumes are
//! mounted and its images pulled. A container begins later, by minutes when an image is large. So the age of a volume
//! that nobody has written to since it was mounted is the best lower bound of the time that is gone.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::clock::Clock;

/// When the time of an attempt began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// With the pod, whose volumes are as old as it.
    WithThePod,
    /// At this time of the boot-time clock.
    At(Duration),
}

impl Begun {
    /// How long ago that was; in a pod by the age of the oldest of the `untouched` files and folders.
    pub fn age(self, untouched: &[&Path], clock: &dyn Clock) -> Duration {
        match self {
            Self::WithThePod => age(untouched, clock.now()),
            Self::At(begun) => clock.boottime().saturating_sub(begun),
        }
    }
}

/// How long ago the oldest of the `untouched` files and folders was made, by the wall clock `now`; nothing for those that
/// are missing or claim to come from the future.
pub fn age(untouched: &[&Path], now: Timestamp) -> Duration {
    untouched.iter().filter_map(|path| age_of(path, now)).max().unwrap_or_default()
}

fn age_of(path: &Path, now: Timestamp) -> Option<Duration> {
    // Not the target of a link: the files of a Secret lie behind one, which is made with the mount.
    let modified = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let modified = Timestamp::try_from(modified).ok()?;
    Duration::try_from(now.duration_since(modified)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let modified = fs::symlink_metadata(&file).unwrap().modified().unwrap();
        let made = Timestamp::try_from(modified).unwrap();
        let later = made + Duration::from_secs(90);
        assert_eq!(age(&[&file], later), Duration::from_secs(90));
        assert_eq!(age(&[&folder.path().join("none"), &file], later), Duration::from_secs(90));
        assert_eq!(age(&[&folder.path().join("none")], later), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_went_back_takes_nothing_away() {
        let folder = tempfile::tempdir().unwrap();
        let past: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(age(&[folder.path()], past), Duration::ZERO);
    }
}
