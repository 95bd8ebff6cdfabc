//! The texts of a check: what a fault means for the data, what to do about it, and the names of parts of files.

use super::finding::Severity;
use crate::catalog::StartPreview;
use crate::collection::{Cause, Part};
use crate::types::Lsn;
use crate::wal::Damage;

/// What is to be done about damaged data, in this order.
pub(super) const RESTORE: &str =
    "restore a backup; or salvage what verifies with `kithdb repair`; or delete the collection";
pub(super) const REBUILD: &str =
    "nothing: the server builds it again in the background, while searches are exact";
pub(super) const NOT_NEEDED: &str = "nothing: the log is cut behind it in time";
pub(super) const WRITTEN_AGAIN: &str = "nothing: the next start writes it again";
pub(super) const COPY: &str = "copy the directory to a disk that works, and check the copy";
pub(super) const ALLOW: &str =
    "let the user of the server read it: see to its owner and its mode; or check as the user of the server";
pub(super) const OTHER_RELEASE: &str = "use the release that wrote it, or a later one";
pub(super) const GIVE_MEMORY: &str = "give the process more memory, address space (`ulimit -v`) or file descriptors (`ulimit -n`), and try again";
pub(super) const MOVE: &str =
    "move the folder away and put the file there, from a backup if it is nowhere else";
pub(super) const QUARANTINED: &str = "the collection is quarantined: its reads and writes answer an error";

/// What is to be done about a file of a collection.
pub(super) fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::Damaged => RESTORE,
        Cause::Unreadable => COPY,
        Cause::Denied => ALLOW,
        Cause::Folder => MOVE,
        Cause::Exhausted => GIVE_MEMORY,
        Cause::OtherFormat => OTHER_RELEASE,
    }
}

/// What a piece of damage of the log means, and what to do.
pub(super) fn log_effect(preview: &StartPreview, damage: &Damage) -> (Severity, String, &'static str) {
    if !damage.loses_above(Lsn::NONE) {
        return (Severity::Note, "none: it loses no record".to_string(), NOT_NEEDED);
    }
    let lost: Vec<&str> = preview
        .collections
        .iter()
        .filter(|found| found.outcome.is_err())
        .map(|found| found.name.as_str())
        .collect();
    let effect = match lost.as_slice() {
        [] if preview.fault.is_none() && damage.lost_to.is_some() => {
            let effect = "none: every collection's checkpoint, or a later record, holds what was lost";
            return (Severity::Note, effect.to_string(), NOT_NEEDED);
        }
        [] => "no collection that is known has lost changes".to_string(),
        [one] => format!("the collection {one} may have lost changes and is quarantined"),
        [first, ..] => {
            format!("{} collections may have lost changes and are quarantined, {first} first", lost.len())
        }
    };
    let effect = match damage.lost_to {
        None => format!("{effect}; one that was created in the records that are lost is gone with them"),
        Some(_) => effect,
    };
    (Severity::Damage, effect, RESTORE)
}

/// Words for a vector field.
pub(super) fn field_name(field: &str) -> String {
    if field.is_empty() { "the unnamed vector".to_string() } else { format!("vector '{field}'") }
}

/// Words for a piece of a collection.
pub(super) fn part_name(part: &Part) -> String {
    match part {
        Part::Manifest => "manifest".to_string(),
        Part::File => "data file".to_string(),
        Part::Points(points) => format!("points at offsets {} to {}", points.start, points.end.max(1) - 1),
        Part::Payloads => "payloads".to_string(),
        Part::Rows { field, rows } => {
            let std::ops::Range { start, end } = rows.numbers();
            format!("rows {start} to {} of {}", end.max(1) - 1, field_name(field))
        }
        Part::Graph { field } => format!("graph of {}", field_name(field)),
    }
}
