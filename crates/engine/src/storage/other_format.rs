//! Files that another release wrote.

use std::fmt;

/// A file of a format version that this release does not read. Nothing is wrong with it, and nothing is to be done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFormat {
    /// The file's name, or its path in the data directory.
    pub file: String,
    /// The version in the file.
    pub found: u32,
    /// The version that this release reads.
    pub known: u32,
}

impl fmt::Display for OtherFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherFormat { file, found, known } = self;
        write!(
            f,
            "the file {file} has format version {found}; this release reads version {known}: use the release that wrote \
             it, or a later one"
        )
    }
}
