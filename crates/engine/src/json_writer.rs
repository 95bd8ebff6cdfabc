//! Appending JSON to a byte buffer.

use crate::allocator::reserve_or_unwind;

/// Appends a JSON string, escaping only what JSON requires.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    reserve_or_unwind(out, bytes.len());
    out.push(b'"');
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0..=0x1f => {
                reserve_or_unwind(out, bytes.len() - copied);
                out.extend_from_slice(&bytes[copied..at]);
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                copied = at + 1;
                continue;
            }
            _ => continue,
        };
        reserve_or_unwind(out, bytes.len() - copied);
        out.extend_from_slice(&bytes[copied..at]);
        out.extend_from_slice(escape);
        copied = at + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

/// Appends `"key":`.
pub fn write_key(out: &mut Vec<u8>, key: &str) {
    write_string(out, key);
    out.push(b':');
}

/// Appends an unsigned integer.
pub fn write_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a float in the shortest form that parses to the same `f32`; infinities (a score may overflow) as
/// the largest finite value of their sign, because JSON has no infinity.
pub fn write_f32(out: &mut Vec<u8>, value: f32) {
    let value = if value.is_nan() { 0.0 } else { value.clamp(f32::MIN, f32::MAX) };
    out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
}

/// Appends a float in the shortest form that parses to the same `f64`.
pub fn write_f64(out: &mut Vec<u8>, value: f64) {
    let value = if value.is_nan() { 0.0 } else { value.clamp(f64::MIN, f64::MAX) };
    out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip_through_an_independent_parser() {
        for text in ["", "plain", "quo\"te", "back\\slash", "line\nfeed\u{1}\u{1f}", "ünï © 🦀"] {
            let mut out = Vec::new();
            write_string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn floats_round_trip_c1_8() {
        for value in [0.0f32, -0.0, 0.1, 1e-40, f32::MIN_POSITIVE, f32::MAX, 16_777_217.0, -3.5e-8] {
            let mut out = Vec::new();
            write_f32(&mut out, value);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }
}
