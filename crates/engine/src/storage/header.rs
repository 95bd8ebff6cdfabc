//! How files begin: eight bytes that say what they are, and the version of their format.
//!
//! There are two kinds. In a _sealed_ header fields follow, and last the CRC32C of all bytes before it. A _body_ is a
//! file that is replaced as a whole: its header has the CRC32C of what follows the header. The body of each version
//! shows its version, and a later version has a body that this release cannot decode; so a flipped bit in the version
//! is not taken for another release.

use std::ops::RangeInclusive;

/// Bytes before a body: magic, version, checksum of the body.
pub const BODY_HEADER_BYTES: usize = 16;

/// A header whose checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Version of the format.
    pub version: u32,
    /// The bytes between the version and the checksum.
    pub fields: &'a [u8],
}

/// A sealed header.
pub fn seal(magic: &[u8; 8], version: u32, fields: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(fields.len() + 16);
    out.extend_from_slice(magic);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(fields);
    out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
    out
}

/// Reads what [`seal`] made, of any version; nothing when it is damaged or something else.
pub fn unseal<'a>(bytes: &'a [u8], magic: &[u8; 8]) -> Option<Sealed<'a>> {
    let (content, checksum) = bytes.split_last_chunk()?;
    let (version, fields) = content.strip_prefix(magic)?.split_first_chunk()?;
    let is_whole = crc32c::crc32c(content) == u32::from_le_bytes(*checksum);
    is_whole.then_some(Sealed { version: u32::from_le_bytes(*version), fields })
}

/// Why a body cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadBody<T> {
    /// Its checksum is wrong, or it is no file of this kind.
    Damaged,
    /// Its checksum is right, and it cannot be decoded.
    Undecodable,
    /// The header is damaged; what follows it is as it was written.
    Header {
        /// The version in the header.
        version: u32,
        /// What the body says.
        body: T,
    },
    /// Another release wrote it.
    OtherFormat {
        /// The version in the header.
        version: u32,
    },
}

/// A file of a header and a body.
pub fn with_body_header(magic: &[u8; 8], version: u32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(BODY_HEADER_BYTES + body.len());
    out.extend_from_slice(magic);
    out.extend_from_slice(&version.to_le_bytes());
    out.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    out.extend_from_slice(body);
    out
}

/// Reads what [`with_body_header`] made. `decode` reads a body of any of the versions `known`, and says of which one it
/// is.
///
/// # Errors
/// [`BadBody`].
pub fn read_body<T>(
    bytes: &[u8],
    magic: &[u8; 8],
    known: RangeInclusive<u32>,
    decode: impl FnOnce(&[u8]) -> Option<(u32, T)>,
) -> Result<T, BadBody<T>> {
    let (header, body) = bytes.split_first_chunk::<BODY_HEADER_BYTES>().ok_or(BadBody::Damaged)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let version = number(8);
    if number(12) != crc32c::crc32c(body) {
        return Err(BadBody::Damaged);
    }
    match (decode(body), header.starts_with(magic)) {
        (Some((of_body, body)), true) if of_body == version => Ok(body),
        // The checksum leaves the header out. Another version differs in more than its number.
        (Some((_, body)), _) => Err(BadBody::Header { version, body }),
        (None, true) if known.contains(&version) => Err(BadBody::Undecodable),
        (None, true) => Err(BadBody::OtherFormat { version }),
        (None, false) => Err(BadBody::Damaged),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8; 8] = b"KITHTEST";

    fn decode(body: &[u8]) -> Option<(u32, Vec<u8>)> {
        let first = body.strip_prefix(b"first").map(|body| (1, body.to_vec()));
        first.or_else(|| body.strip_prefix(b"old").map(|body| (2, body.to_vec())))
    }

    #[test]
    fn a_sealed_header_is_read_in_any_version_and_not_with_any_bit_changed() {
        for version in [1, 9] {
            let sealed = seal(MAGIC, version, b"fields");
            assert_eq!(unseal(&sealed, MAGIC), Some(Sealed { version, fields: b"fields" }));
            for bit in 0..sealed.len() * 8 {
                let mut bad = sealed.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(unseal(&bad, MAGIC), None, "bit {bit}");
            }
            for len in 0..sealed.len() {
                assert_eq!(unseal(&sealed[..len], MAGIC), None, "{len} bytes");
            }
        }
    }

    #[test]
    fn a_damaged_header_of_a_body_is_distinguished_from_another_format() {
        let read = |bytes: &[u8]| read_body(bytes, MAGIC, 1..=2, decode);
        assert_eq!(read(&with_body_header(MAGIC, 1, b"first body")), Ok(b" body".to_vec()));
        assert_eq!(read(&with_body_header(MAGIC, 2, b"old body")), Ok(b" body".to_vec()));
        let other = read(&with_body_header(MAGIC, 3, b"new body"));
        assert_eq!(other, Err(BadBody::OtherFormat { version: 3 }));
        for version in [1, 2] {
            assert_eq!(read(&with_body_header(MAGIC, version, b"new body")), Err(BadBody::Undecodable));
        }
        let mixed = read(&with_body_header(MAGIC, 1, b"old body"));
        assert_eq!(mixed, Err(BadBody::Header { version: 1, body: b" body".to_vec() }));
        let whole = with_body_header(MAGIC, 2, b"old body");
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            match read(&bad) {
                Err(BadBody::Header { body, .. }) => assert!(at < 12 && body == b" body", "byte {at}"),
                Err(BadBody::Damaged) => assert!(at >= 12, "byte {at}"),
                other => panic!("byte {at}: {other:?}"),
            }
            assert!(matches!(read(&whole[..at]), Err(BadBody::Damaged)), "{at} bytes");
        }
    }
}
