//! Data checkpoints: a view in immutable files, named by a manifest that is written last.
//!
//! A checkpoint costs in proportion to what is new: it writes only row chunks that grew, only chunks of points with a
//! changed point, and only payloads that no file holds yet. Files with less than half still in use (on a full disk:
//! less than seven eighths) are copied forward and dropped, as far as there is room. Deaths of rows are not kept:
//! a row is alive if its owner names it.
//!
//! This module has the formats of the files, and writes, loads, inspects and salvages them. The collection decides when a
//! checkpoint is made.

mod cause;
mod copy;
mod error;
mod extents;
mod files;
mod graph_file;
mod inspection;
mod manifest;
mod opening;
mod pass;
mod point_column;
mod salvage;
mod sparse_file;
mod staging;
mod survey;
mod verification;

pub use cause::{Cause, Unopened};
pub use copy::{NotAdopted, UNFINISHED, adopt_folder, discard_unfinished, is_unfinished};
pub(crate) use copy::{link_checkpoint, link_files, remove_links};
pub use error::CheckpointError;
pub(crate) use extents::Extent;
#[cfg(feature = "fuzzing")]
pub(crate) use extents::ExtentWriter;
pub(crate) use files::CheckpointFiles;
pub(crate) use graph_file::write as write_graph;
pub(crate) use inspection::inspect_with;
pub use inspection::{FileFault, Inspection, Part, inspect, is_manifest_damaged};
pub(crate) use manifest::Manifest;
pub use opening::{Opening, OpeningOptions};
pub(crate) use pass::{MovedPayload, Written, WrittenRows, write_view};
pub use salvage::Losses;
pub use staging::link_folder;
pub use survey::RoomNeeded;
pub(crate) use survey::{LeastFreed, Survey, has_room_to_move};
pub(crate) use verification::{Unsound, verify_extent};

use crate::storage::Storage;
use extents::file_name;

/// The folder of a collection.
#[derive(Clone, Copy)]
pub(crate) struct Folder<'a> {
    pub storage: &'a dyn Storage,
    /// Its path.
    pub dir: &'a str,
    /// Number of the collection, which is in the headers of the files that it writes.
    pub collection: u64,
}

/// Folder of a collection. Names never become paths.
pub fn directory(collection: u64) -> String {
    format!("collections/{collection:016x}")
}

/// A sentence about a file of a collection of which a map had a page that could not be read, if there is one.
pub(crate) fn unreadable_file(storage: &dyn Storage, collection: u64) -> Option<String> {
    let dir = directory(collection);
    let of_this = |path: &String| path.strip_prefix(&dir)?.strip_prefix('/').map(str::to_owned);
    let file = storage.unreadable_maps().iter().find_map(of_this)?;
    Some(format!("a page of the file {file} cannot be read"))
}

/// Path of a data or graph file in a collection's folder.
pub(crate) fn file_path(dir: &str, number: u32) -> String {
    format!("{dir}/{}", file_name(number))
}
