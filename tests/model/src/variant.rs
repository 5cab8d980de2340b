//! Broken protocols: lies between the shipped decisions and the cluster, each of which undoes one rule.

/// Which rule is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variant {
    /// None.
    Sound,
    /// The record is read before the Job.
    RecordFirst,
    /// A create whose answer was lost is sent again without a read, whenever that may be.
    BlindRetry,
    /// Reads allow a create for ever.
    EndlessPermission,
    /// A lost create is taken for one that was never sent.
    LossForgotten,
    /// A lost create is taken for a no.
    LossTakenForNo,
    /// A delete of a Secret whose answer was lost is taken for a no.
    LostDeleteTakenForNo,
    /// A Secret is deleted by its name, whichever it is by now.
    SecretByName,
    /// The Job is deleted by its name, whichever it is by now.
    JobByName,
    /// A Job that never ran is deleted without the version that was seen.
    JobWithoutVersion,
    /// The pod is deleted without the version that was seen.
    PodWithoutVersion,
    /// A keeper sees the one Secret that the Job names.
    NamedSecretOnly,
    /// The record is written after the Job is gone.
    RecordLast,
    /// A release does not ask whether the Job was suspended after its start.
    SuspensionForgotten,
    /// A release takes a suspended Job for one that never was anything else.
    AdmissionForgotten,
    /// The Job's name depends on the signature, so nothing is locked.
    TwoNames,
}
