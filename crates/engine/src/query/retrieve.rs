//! Points by id (C5.2, C5.3).

use super::request::RetrieveRequest;
use crate::collection::{View, not_found};
use crate::error::Error;

/// Offsets of the points asked for, in that order.
///
/// # Errors
/// `PointNotFound` with the absent ids.
pub fn retrieve(view: &View, request: &RetrieveRequest) -> Result<Vec<u32>, Error> {
    let mut absent = Vec::new();
    let mut offsets = Vec::with_capacity(request.ids.len());
    for &id in &request.ids {
        match view.state.ids.get(&id) {
            Some(&offset) => offsets.push(offset),
            None => absent.push(id),
        }
    }
    if absent.is_empty() { Ok(offsets) } else { Err(not_found(absent)) }
}
