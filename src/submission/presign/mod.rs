//! Signed life: from when until when a presigned URL works, and which headers it was signed with.
