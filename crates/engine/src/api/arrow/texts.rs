//! The texts of a column, in Arrow's three forms.

use super::columns::Checked;
use super::lists::Offsets;

/// How many bytes a view has. A view of a short text is its length and its bytes. A view of a long text is
/// its length, its first four bytes, the number of its buffer and its place in that buffer.
pub(super) const VIEW_BYTES: usize = 16;
/// The longest text whose bytes are in its view.
const SHORT_BYTES: usize = 12;

/// The texts of a column, as they lie in buffers.
pub(super) enum Texts<'a> {
    /// One text behind the other in one buffer, with the offsets between them.
    Joined(Offsets<'a>, &'a [u8]),
    /// Views, and the buffers that they point into.
    Views(&'a [u8], Vec<&'a [u8]>),
}

impl<'a> Texts<'a> {
    /// The text of a row.
    ///
    /// # Errors
    /// A sentence for a text whose bytes are not in the buffers, or are not UTF-8.
    pub(super) fn get(&self, row: usize) -> Checked<&'a str> {
        let bytes = match self {
            Texts::Joined(offsets, bytes) => &bytes[offsets.range(row, bytes.len())?],
            Texts::Views(views, buffers) => {
                let view = &views[row * VIEW_BYTES..(row + 1) * VIEW_BYTES];
                viewed(view, buffers).ok_or("a view of bytes that are not there")?
            }
        };
        std::str::from_utf8(bytes).map_err(|_| "not UTF-8")
    }
}

/// The bytes of the text that a view is of; `None` where they are not in the buffers.
fn viewed<'a>(view: &'a [u8], buffers: &[&'a [u8]]) -> Option<&'a [u8]> {
    let number = |at: usize| {
        let bytes = view.get(at..)?.first_chunk::<4>()?;
        usize::try_from(i32::from_le_bytes(*bytes)).ok()
    };
    let length = number(0)?;
    if length <= SHORT_BYTES {
        return view.get(4..4 + length);
    }
    let (buffer, from) = (number(8)?, number(12)?);
    buffers.get(buffer)?.get(from..from.checked_add(length)?)
}
