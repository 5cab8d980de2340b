//! Profiles: YAML.

use harness::profile::Profile;

use crate::common::{check_fault, check_places};

/// Any bytes are problems with places inside of them, or a profile that is the same after it was written down, as YAML
/// and as JSON, and whose arithmetic of time holds.
pub fn profile(data: &[u8]) {
    let profile = match (Profile::parse(data), Profile::parse(data)) {
        (Err(problems), Err(again)) => {
            assert_eq!(problems, again);
            // YAML also ends a line at a carriage return (YAML 1.2.2, section 5.4).
            let text = String::from_utf8_lossy(data).replace("\r\n", "\n").replace('\r', "\n");
            return check_places(&problems, text.as_bytes());
        }
        (Ok(profile), Ok(again)) => {
            assert_eq!(profile.digest(), again.digest());
            profile
        }
        _ => panic!("read in two ways"),
    };
    let yaml = serde_yaml::to_string(&profile).expect("a profile is YAML");
    let json = serde_json::to_string(&profile).expect("a profile is JSON");
    for written in [yaml, json] {
        let read = Profile::parse(written.as_bytes())
            .unwrap_or_else(|problems| panic!("{written}\n{problems:?}"));
        assert_eq!(read.digest(), profile.digest(), "{written}");
    }
    check_times(&profile);
}

fn check_times(profile: &Profile) {
    let allowed = &profile.allowances;
    let largest = profile.largest_budget();
    let parts =
        u64::from(allowed.pull) + u64::from(allowed.staging) + u64::from(allowed.publication);
    for budget in [1, largest, largest.saturating_add(1), 86_400] {
        match profile.times(budget) {
            Ok(deadlines) => {
                assert!(budget <= largest || largest == 86_400);
                assert_eq!(u64::from(deadlines.pod), parts + u64::from(budget));
                let job = u64::from(allowed.pending)
                    + u64::from(deadlines.pod)
                    + u64::from(allowed.grace);
                assert_eq!(u64::from(deadlines.job), job);
                assert!(deadlines.job <= allowed.active_deadline);
            }
            Err(fault) => {
                assert!(budget == 0 || budget > largest, "{budget} {fault:?}");
                check_fault(&fault);
            }
        }
    }
}
