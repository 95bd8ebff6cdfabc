//! Packed vectors: a body, or an answer, whose vectors are 32-bit floats beside its JSON.
//!
//! Such bytes are the JSON, the floats (little-endian), and the length of the JSON (4 bytes, little-endian). In the JSON of a
//! body `#7:384` stands for 384 numbers from the seventh float on; it is no JSON, so no text of a client is taken for it.
//! Only callers in the same process, or of the same user, send such bodies: over HTTP they are malformed.

use super::reader::{Result, Step};
use super::{IdRules, Reader, Watch};
use crate::allocator::reserve_or_unwind;
use crate::error::Error;

/// Bytes behind the floats.
const TRAILER_BYTES: usize = 4;
const FLOAT_BYTES: usize = 4;
/// The first byte of what stands for the numbers.
pub(super) const MARK: u8 = b'#';

/// The body of a request: JSON, and the packed vectors beside it.
#[derive(Clone, Copy, Debug)]
pub struct JsonBody<'a> {
    text: &'a [u8],
    floats: Option<&'a [u8]>,
    watch: Option<Watch<'a>>,
    ids: IdRules<'a>,
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for JsonBody<'a> {
    fn from(text: &'a T) -> JsonBody<'a> {
        JsonBody { text: text.as_ref(), floats: None, watch: None, ids: IdRules::default() }
    }
}

impl<'a> JsonBody<'a> {
    /// A body with packed vectors.
    ///
    /// # Errors
    /// `Internal` for bytes that are none.
    pub fn unpack(bytes: &'a [u8]) -> Result<JsonBody<'a>> {
        let broken = || Error::Internal("a body whose vectors are packed wrongly".to_string());
        let (packed, length) = bytes.split_last_chunk::<TRAILER_BYTES>().ok_or_else(broken)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (text, floats) = packed.split_at_checked(length).ok_or_else(broken)?;
        if floats.len() % FLOAT_BYTES != 0 {
            return Err(broken());
        }
        Ok(JsonBody { text, floats: Some(floats), watch: None, ids: IdRules::default() })
    }

    /// Sets a watch that can stop the reading of the body.
    #[must_use]
    pub fn watched(self, watch: Watch<'a>) -> JsonBody<'a> {
        JsonBody { watch: Some(watch), ..self }
    }

    /// Sets how ids are read.
    #[must_use]
    pub fn with_ids(self, ids: IdRules<'a>) -> JsonBody<'a> {
        JsonBody { ids, ..self }
    }

    /// How its ids are read.
    pub fn ids(&self) -> IdRules<'a> {
        self.ids
    }

    /// What is asked while it is read.
    pub fn watch(&self) -> Option<Watch<'a>> {
        self.watch
    }

    /// The JSON.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// A packed body of the same floats with other JSON.
    pub fn repack(&self, text: Vec<u8>) -> Vec<u8> {
        let mut out = text;
        let length = out.len() as u32;
        out.extend_from_slice(self.floats.unwrap_or_default());
        out.extend_from_slice(&length.to_le_bytes());
        out
    }

    /// The packed floats, where the body has any.
    pub fn floats(&self) -> Option<&'a [u8]> {
        self.floats
    }
}

/// The floats of one packed list.
pub(super) struct PackedList<'a>(&'a [u8]);

impl PackedList<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Reader<'a> {
    /// Takes the packed floats of the body, where it has any.
    pub fn unpack(&mut self, floats: Option<&'a [u8]>) {
        self.floats = floats;
    }

    /// Whether the next value is a packed list.
    pub(super) fn is_at_packed(&self) -> bool {
        self.floats.is_some() && self.byte() == Some(MARK)
    }

    /// Reads the packed list that comes next.
    pub(super) fn packed_list(&mut self) -> Result<PackedList<'a>> {
        let broken = || Error::Internal("a packed vector that is not in its body".to_string());
        self.at += 1;
        let first = self.index().ok_or_else(broken)?;
        if self.byte() != Some(b':') {
            return Err(broken());
        }
        self.at += 1;
        let count = self.index().ok_or_else(broken)?;
        let from = first.checked_mul(FLOAT_BYTES);
        let to = first.checked_add(count).and_then(|end| end.checked_mul(FLOAT_BYTES));
        let floats = self.floats.unwrap_or_default();
        from.zip(to).and_then(|(from, to)| floats.get(from..to)).map(PackedList).ok_or_else(broken)
    }

    /// Appends the numbers of the packed list that comes next. As in JSON, there is no negative zero, and what is not finite
    /// is no number.
    pub(super) fn packed_floats(&mut self, out: &mut Vec<f32>) -> Result<()> {
        let PackedList(bytes) = self.packed_list()?;
        self.enter(Step::Index(0))?;
        let first = out.len();
        out.extend(
            bytes
                .chunks_exact(FLOAT_BYTES)
                .map(|float| f32::from_le_bytes([float[0], float[1], float[2], float[3]]) + 0.0),
        );
        if let Some(place) = out[first..].iter().position(|number| !number.is_finite()) {
            *self.path.last_mut().expect("entered above") = Step::Index(place);
            return Err(self.error("expected a number, got null"));
        }
        self.path.pop();
        Ok(())
    }

    fn index(&mut self) -> Option<usize> {
        let from = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.text[from..self.at].parse().ok()
    }
}

/// The packed vectors of an answer. In its JSON the two numbers of a list say where the first float of a vector is, and how
/// many it has.
#[derive(Debug, Default)]
pub struct PackedVectors(Vec<u8>);

impl PackedVectors {
    /// Bytes of all floats.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a vector, and appends what stands for it to the JSON in `out`.
    pub fn add(&mut self, components: &[f32], out: &mut Vec<u8>) {
        reserve_or_unwind(&mut self.0, components.len() * FLOAT_BYTES);
        let place = format!("[{},{}]", self.0.len() / FLOAT_BYTES, components.len());
        out.extend_from_slice(place.as_bytes());
        self.0.extend(components.iter().flat_map(|component| component.to_le_bytes()));
    }

    /// Makes a packed answer of the JSON in `out`.
    pub fn append_to(self, out: &mut Vec<u8>) {
        let length = out.len() as u32;
        reserve_or_unwind(out, self.0.len());
        out.extend_from_slice(&self.0);
        out.extend_from_slice(&length.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(text: &str, floats: &[f32]) -> Vec<u8> {
        let floats = floats.iter().flat_map(|float| float.to_le_bytes());
        let length = (text.len() as u32).to_le_bytes();
        text.bytes().chain(floats).chain(length).collect()
    }

    fn reader_of(bytes: &[u8]) -> Result<Reader<'_>> {
        let body = JsonBody::unpack(bytes)?;
        let mut reader = Reader::new(body.text())?;
        reader.unpack(body.floats());
        Ok(reader)
    }

    fn read(bytes: &[u8]) -> Result<Vec<f32>> {
        let mut reader = reader_of(bytes)?;
        let mut found = Vec::new();
        reader.object(|r, _| r.f32_array(&mut found))?;
        reader.finish()?;
        Ok(found)
    }

    #[test]
    fn a_packed_list_is_read_as_its_numbers() {
        let bytes = packed(r#"{"vector": #1:2 }"#, &[9.0, 0.5, -0.0]);
        let found = read(&bytes).unwrap();
        assert_eq!(found.iter().map(|float| float.to_bits()).collect::<Vec<_>>(), [0.5f32.to_bits(), 0]);
    }

    #[test]
    fn what_is_not_finite_is_no_number_as_in_json() {
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let packed = read(&packed(r#"{"vector":#0:2}"#, &[1.0, odd])).unwrap_err();
            let mut reader = Reader::new(br#"{"vector":[1,null]}"#).unwrap();
            let json = reader.object(|r, _| r.f32_array(&mut Vec::new())).unwrap_err();
            assert_eq!(packed, json);
        }
    }

    #[test]
    fn it_is_no_json_elsewhere() {
        let bytes = packed(r#"{"a":#0:1}"#, &[1.0]);
        let mut reader = reader_of(&bytes).unwrap();
        assert_eq!(reader.object(|r, _| r.array(|r, _| r.skip())), Err(Error::NeedsJson));
        let mut reader = reader_of(&bytes).unwrap();
        assert_eq!(reader.skip(), Ok(()));
        assert!(Reader::new(br#"{"a":#0:1}"#).unwrap().skip().is_err(), "not in a body that is not packed");
        let deep = packed(&"[".repeat(200), &[]);
        let mut reader = reader_of(&deep).unwrap();
        assert_eq!(reader.skip(), Err(Error::NeedsJson), "places in the text differ from those in JSON");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            text in "[{\\[\"a:#0-9,\\]} ]{0,40}",
            floats in prop::collection::vec(any::<f32>(), 0..4),
            cut in any::<prop::sample::Index>(),
            length in any::<u32>(),
        ) {
            let bytes = packed(&text, &floats);
            let _ = read(&bytes);
            let _ = read(&bytes[..cut.index(bytes.len())]);
            let mut broken = bytes.clone();
            let end = broken.len() - TRAILER_BYTES;
            broken[end..].copy_from_slice(&(length % 64).to_le_bytes());
            let _ = read(&broken);
        }
    }
}
