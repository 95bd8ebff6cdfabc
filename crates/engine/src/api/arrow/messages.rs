//! The messages of an Arrow IPC stream: framing, verified metadata, and the bytes of their bodies.

use super::super::body::Result;
use crate::error::Error;
use arrow_ipc::{Message, MetadataVersion, root_as_message};

/// The first bytes of each message.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The first bytes of a file of Arrow, which is another format than the stream.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// The messages of a stream that are left to read, in their order.
pub(super) struct Messages<'a> {
    left: &'a [u8],
}

/// One message: its metadata, and its body.
pub(super) struct Sent<'a> {
    pub(super) message: Message<'a>,
    pub(super) body: &'a [u8],
}

impl<'a> Messages<'a> {
    /// The messages of a stream, from its first byte on.
    ///
    /// # Errors
    /// `BadRequest` for a file of Arrow.
    pub(super) fn new(stream: &'a [u8]) -> Result<Messages<'a>> {
        if stream.starts_with(FILE_MAGIC) {
            return Err(Error::bad("body: an Arrow file, expected an Arrow IPC stream"));
        }
        Ok(Messages { left: stream })
    }

    /// The next message; `None` at the end of the stream. The metadata is verified: each of its offsets is
    /// inside of it, and its tables nest at most 64 levels.
    ///
    /// # Errors
    /// `BadRequest` for bytes that are no message, and for a message that is shorter than it announces.
    pub(super) fn next(&mut self) -> Result<Option<Sent<'a>>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let cut = || Error::bad("body: an Arrow IPC stream that is cut off");
        let (marker, rest) = self.left.split_first_chunk::<4>().ok_or_else(cut)?;
        if *marker != CONTINUATION {
            return Err(Error::bad("body: not an Arrow IPC stream"));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 {
            self.left = &[];
            let is_end = rest.is_empty();
            return if is_end {
                Ok(None)
            } else {
                Err(Error::bad("body: bytes behind the end of the stream"))
            };
        }
        let (metadata, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let message = root_as_message(metadata)
            .map_err(|_| Error::bad("body: a message of the stream has malformed metadata"))?;
        if !matches!(message.version(), MetadataVersion::V4 | MetadataVersion::V5) {
            return Err(Error::bad("body: expected version 4 or 5 of Arrow's metadata"));
        }
        let body =
            usize::try_from(message.bodyLength()).ok().and_then(|length| rest.split_at_checked(length));
        let (body, rest) = body.ok_or_else(cut)?;
        self.left = rest;
        Ok(Some(Sent { message, body }))
    }
}
