//! Which record allows its Job to be deleted.

use super::*;

fn record() -> Record {
    Record {
        schema_version: crate::submit::record::SCHEMA_VERSION.to_owned(),
        job_name: job().name,
        job_uid: job().uid,
        namespace_uid: "namespace".to_owned(),
        result_identity: "a".repeat(64),
        submission_digest: "b".repeat(64),
        outcome: "failed".to_owned(),
        started_at: None,
        finished_at: None,
        evidence_digest: None,
        image_ids: Vec::new(),
        recorded_by: "somebody".to_owned(),
        recorded_at: "2030-01-02T03:04:05Z".to_owned(),
    }
}

fn kept(record: Record) -> RecordFact {
    RecordFact { record: Ok(record), is_immutable: true }
}

fn licence(found: &RecordFact, ours: Option<&Record>) -> Result<Licence, String> {
    let mut protocol = Protocol::start(Command::Cancel, Limits::default(), &now()).0;
    protocol.namespace_uid = Some("namespace".to_owned());
    protocol.licence(&job(), found, ours)
}

#[test]
fn the_record_of_this_very_job_is_a_licence() {
    assert!(licence(&kept(record()), None).is_ok_and(Licence::is_recorded));
    assert!(!Licence::never_ran().is_recorded());
    let changeable = RecordFact { is_immutable: false, ..kept(record()) };
    assert!(licence(&changeable, None).is_err_and(|why| why.contains("not immutable")));
}

#[test]
fn a_record_that_differs_anywhere_is_none() {
    for name in ["job_name", "job_uid", "namespace_uid", "result_identity", "submission_digest"] {
        let mut other = serde_json::to_value(record()).unwrap();
        other[name] = "other".into();
        let other = serde_json::from_value(other).unwrap();
        let why = licence(&kept(other), None).unwrap_err();
        assert!(why.ends_with(&format!("that of another Job: {name} differ")), "{why}");
    }
}

/// Two prunes may each have made one; only the one that came through is compared with what was sent.
#[test]
fn our_own_record_must_have_come_through_unchanged() {
    assert!(licence(&kept(record()), Some(&record())).is_ok());
    let changed = Record { outcome: "succeeded".to_owned(), ..record() };
    let why = licence(&kept(changed.clone()), Some(&record())).unwrap_err();
    assert!(why.contains("changed on its way"), "{why}");
    for of_another in [
        Record { recorded_by: "another".to_owned(), ..changed.clone() },
        Record { recorded_at: "2030-01-02T03:04:06Z".to_owned(), ..changed },
    ] {
        assert!(licence(&kept(of_another), Some(&record())).is_ok());
    }
}

#[test]
fn where_only_a_record_is_left_each_command_says_so() {
    let alone = |command| {
        Told::start(command)
            .sees(absent())
            .hears(vec![Fact::Record(Reading::Present(kept(record())))])
            .end()
    };
    assert!(matches!(alone(Command::Release).ending, Ending::NotReleased(_)));
    assert_eq!(alone(Command::Cancel).ending, Ending::AlreadyRecorded);
}

/// Nothing that was seen of one life of an experiment holds for the next.
#[test]
fn another_job_under_the_name_has_no_record_and_no_pods_yet() {
    for (uid, is_kept) in [("job", true), ("another", false)] {
        let mut protocol = Protocol::start(Command::Release, Limits::default(), &now()).0;
        protocol.job = Some(job());
        protocol.pods = vec![pod()];
        protocol.record = Some(record());
        let found = JobFact { uid: uid.to_owned(), ..job() };
        let namespace = Reading::Present("namespace".to_owned());
        protocol.looked(namespace, Reading::Present(found), &now());
        let remembers = (protocol.record.is_some(), protocol.pods.len() == 1);
        assert_eq!(remembers, (is_kept, is_kept), "{uid}");
    }
}
