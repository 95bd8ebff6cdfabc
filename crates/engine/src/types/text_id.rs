//! Strings that are ids of points (C21).

use crate::allocator;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The most bytes of a string that is an id.
const MAX_LEN: usize = 256;
/// Bytes of a string that is kept in place.
const SHORT_LEN: usize = 30;

/// A string that is the id of a point: 1 to 256 bytes of UTF-8, in byte order.
///
/// Both forms fill the room that a [`PointId`](super::PointId) has anyway, so a string of up to 30 bytes takes no memory, and a
/// longer one at most 24 bytes more than its length. Clones share what is not in place.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TextId(Form);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Form {
    /// At most [`SHORT_LEN`] bytes, and zeros behind them.
    Short { len: u8, bytes: [u8; SHORT_LEN] },
    /// More than that.
    Long { start: [u8; TextId::START_LEN], rest: Arc<[u8]> },
}

impl TextId {
    /// Bytes of a longer string that are kept in place.
    pub const START_LEN: usize = 15;

    /// The id of a string; `None` where it is empty or too long.
    pub fn new(text: &str) -> Option<TextId> {
        let text = text.as_bytes();
        if text.is_empty() || text.len() > MAX_LEN {
            return None;
        }
        if text.len() > SHORT_LEN {
            let (start, rest) = text.split_first_chunk()?;
            return Some(TextId(Form::Long { start: *start, rest: rest.into() }));
        }
        let mut bytes = [0; SHORT_LEN];
        bytes[..text.len()].copy_from_slice(text);
        Some(TextId(Form::Short { len: text.len() as u8, bytes }))
    }

    /// Calls `read` with the string.
    pub fn with_str<T>(&self, read: impl FnOnce(&str) -> T) -> T {
        let mut buffer = [0; MAX_LEN];
        let bytes = match &self.0 {
            Form::Short { len, bytes } => &bytes[..usize::from(*len)],
            Form::Long { start, rest } => {
                let len = Self::START_LEN + rest.len();
                buffer[..Self::START_LEN].copy_from_slice(start);
                buffer[Self::START_LEN..len].copy_from_slice(rest);
                &buffer[..len]
            }
        };
        read(std::str::from_utf8(bytes).expect("it was made of a string"))
    }

    /// Its bytes, in two parts: the second is empty unless the first has [`TextId::START_LEN`] bytes.
    pub fn parts(&self) -> (&[u8], &[u8]) {
        match &self.0 {
            Form::Short { len, bytes } => {
                let bytes = &bytes[..usize::from(*len)];
                bytes.split_at(bytes.len().min(Self::START_LEN))
            }
            Form::Long { start, rest } => (start, rest),
        }
    }

    /// Bytes that it takes of the heap.
    pub fn heap_bytes(&self) -> u64 {
        match &self.0 {
            Form::Short { .. } => 0,
            Form::Long { rest, .. } => allocator::shared_bytes(rest.len()),
        }
    }
}

impl Ord for TextId {
    /// By bytes.
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for TextId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for TextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_str(|text| fmt::Debug::fmt(text, f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_has_1_to_256_bytes_c21() {
        for (text, is_id) in [(0, false), (1, true), (30, true), (31, true), (256, true), (257, false)] {
            assert_eq!(TextId::new(&"x".repeat(text)).is_some(), is_id, "{text}");
        }
        assert!(TextId::new(&"é".repeat(128)).is_some());
        assert!(TextId::new(&"é".repeat(129)).is_none());
    }

    #[test]
    fn it_takes_at_most_24_bytes_more_than_its_length_c21() {
        for len in 1..=MAX_LEN {
            let id = TextId::new(&"x".repeat(len)).unwrap();
            assert!(id.heap_bytes() <= len as u64 + 24, "{len}: {}", id.heap_bytes());
        }
    }

    proptest! {
        #[test]
        fn order_equality_and_text_are_those_of_its_bytes_c21(
            (a, b) in ("[a\u{0}é]{1,40}", "[a\u{0}é]{1,40}"),
            shared in 0usize..40,
        ) {
            // Strings that differ late are rare by chance.
            let cut = a.char_indices().map(|(at, _)| at).nth(shared).unwrap_or(a.len());
            let b = format!("{}{b}", &a[..cut]);
            let ids = [&a, &b].map(|text| TextId::new(text).unwrap());
            prop_assert_eq!(ids[0].cmp(&ids[1]), a.as_bytes().cmp(b.as_bytes()));
            prop_assert_eq!(ids[0] == ids[1], a == b);
            prop_assert_eq!(ids.each_ref().map(|id| id.with_str(str::to_string)), [a, b]);
        }
    }
}
