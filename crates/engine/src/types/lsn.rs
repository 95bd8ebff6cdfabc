//! Log sequence numbers.

use std::fmt;

/// The place of a record in the order of all records of the server's log. Numbers start at 1 and have no gaps, but for
/// records that were lost.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(u64);

impl Lsn {
    /// Before every record: stands for no record.
    pub const NONE: Lsn = Lsn(0);
    /// The number of the first record.
    pub const FIRST: Lsn = Lsn(1);
    /// Above every record.
    pub const MAX: Lsn = Lsn(u64::MAX);

    /// From the number that stands in a file.
    pub const fn new(number: u64) -> Lsn {
        Lsn(number)
    }

    /// The number, as it stands in files.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of the record after this one.
    pub const fn next(self) -> Lsn {
        self.plus(1)
    }

    /// The number of the record before this one; not for [`Lsn::NONE`].
    pub const fn previous(self) -> Lsn {
        Lsn(self.0 - 1)
    }

    /// The number of the record that comes `records` records after this one.
    pub const fn plus(self, records: u64) -> Lsn {
        Lsn(self.0 + records)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
