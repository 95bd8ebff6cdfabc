//! Identities of operations.

use super::PointId;
use std::fmt;

/// The identity of one write, which a record of the log carries: a UUID as its big-endian number. The engine applies a
/// write at most once for each identity that came with a call (C25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(u128);

impl OperationId {
    /// The identity with that number.
    pub const fn new(number: u128) -> OperationId {
        OperationId(number)
    }

    /// Reads a UUID in its hyphenated, simple or URN form, in any case. `None` for anything else.
    pub fn parse(text: &str) -> Option<OperationId> {
        PointId::parse_uuid(text).map(OperationId)
    }

    /// Its number.
    pub const fn get(self) -> u128 {
        self.0
    }
}

impl fmt::Display for OperationId {
    /// Lower-case and hyphenated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PointId::Uuid(self.0).fmt(f)
    }
}
