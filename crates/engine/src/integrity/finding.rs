//! One line of a report: where, what, what it means, what to do.

use crate::limits::MAX_FINDINGS;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong: what a crash leaves behind, and the next start or checkpoint takes away.
    Note,
    /// Derived data: it is built again from the rest.
    Derived,
    /// Data: something that was acknowledged cannot be read here.
    Damage,
}

impl Severity {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Derived => "derived",
            Severity::Damage => "damage",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder, relative to the data directory.
    pub file: String,
    /// The collection that it belongs to, where it belongs to one.
    pub collection: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What that means for the data.
    pub effect: String,
    /// What to do.
    pub advice: String,
}

/// The findings of one run, at most [`MAX_FINDINGS`] of them.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Those that are listed.
    pub listed: Vec<Finding>,
    /// How many more there were.
    pub unlisted: u64,
}

impl Findings {
    /// Adds one, while there is room for it.
    pub fn push(&mut self, finding: Finding) {
        if self.listed.len() < MAX_FINDINGS {
            self.listed.push(finding);
        } else {
            self.unlisted += 1;
        }
    }
}
