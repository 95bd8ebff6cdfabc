//! The largest request.

use super::frame::{MAX_BODY_BYTES, MAX_NAME_BYTES};
use crate::engine::Request;

/// What of a request is too large for a frame, in every process: also in one that owns the folder, and
/// where there are no sockets.
pub fn too_large(request: &Request) -> Option<String> {
    let body = (*request.body).as_ref().len();
    if body > MAX_BODY_BYTES {
        return Some(format!("a call of {body} bytes, where {MAX_BODY_BYTES} are the most"));
    }
    let names = [Some(&request.collection), request.target.as_ref()];
    let too_long = names.into_iter().flatten().map(String::len).find(|bytes| *bytes > MAX_NAME_BYTES);
    too_long.map(|bytes| format!("a name of {bytes} bytes, where {MAX_NAME_BYTES} are the most"))
}
