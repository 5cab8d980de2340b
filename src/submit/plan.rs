//! One submission on its way to one namespace: what is rendered, and under which terms it goes.

use jiff::Timestamp;

use super::facts::Moment;
use super::protocol::Terms;
use crate::render::{self, Bundle, Fitted, life};
use crate::submission::{Namespace, Problem};

/// What the operator asks for, alike for every submission of one call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Intent {
    /// Inputs without a signature are public.
    pub public_inputs: bool,
    /// Stop after the rehearsal: `--dry-run=server`.
    pub rehearse_only: bool,
}

/// A fitted submission, its bundle and the operator's intent.
#[derive(Debug)]
pub struct Plan<'a> {
    fitted: Fitted<'a>,
    bundle: Bundle,
    intent: Intent,
}

impl<'a> Plan<'a> {
    /// Renders the bundle.
    pub fn new(
        fitted: Fitted<'a>,
        namespace: &Namespace,
        intent: Intent,
    ) -> Result<Self, Vec<Problem>> {
        let bundle = render::render(&fitted, namespace).map_err(|problem| vec![problem])?;
        Ok(Self { fitted, bundle, intent })
    }

    /// What is rendered.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The submission with its profile.
    pub fn fitted(&self) -> &Fitted<'a> {
        &self.fitted
    }

    /// What keeps it from being created at `now`: placeholders, dead or missing signatures.
    pub fn obstacles_at(&self, now: Timestamp) -> Vec<Problem> {
        life::obstacles(&self.fitted, self.intent.public_inputs, now)
    }
}

impl Terms for Plan<'_> {
    fn namespace_uid(&self) -> Option<&str> {
        self.fitted.submission.namespace_uid().map(crate::submission::Uid::as_str)
    }

    fn secret_name(&self) -> &str {
        &self.bundle.names().secret
    }

    fn obstacles(&self, now: &Moment) -> Vec<Problem> {
        self.obstacles_at(now.now())
    }

    fn rehearse_only(&self) -> bool {
        self.intent.rehearse_only
    }
}
