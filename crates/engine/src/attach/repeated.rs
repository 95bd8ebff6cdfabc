//! The errors of writes that are sent again.

use crate::error::Error;

/// The error of a call that an engine refuses; `may_be_applied` for a write that was sent to an owner before. The engine looks
/// at its time and at its cancellation before it looks for its operation id: it may have been applied all the same.
pub fn error_of(error: Error, may_be_applied: bool) -> Error {
    match error {
        Error::Timeout(_) | Error::Cancelled if may_be_applied => Error::OutcomeUnknown,
        error => error,
    }
}
