//! Finding where values of normalised JSON begin and end.
//!
//! Positions are indexes into the bytes. `None` is returned for malformed bytes, too; nothing here panics.

use super::path::Key;

/// The position of the value of `key` in the object at `at`.
pub(super) fn find(bytes: &[u8], at: usize, key: &Key) -> Option<usize> {
    let mut item = first_item(bytes, at, b'}');
    while let Some(from) = item {
        if bytes[from..].starts_with(key.encoded()) {
            let colon = from + key.encoded().len();
            return if bytes.get(colon) == Some(&b':') { Some(colon + 1) } else { None };
        }
        let colon = skip_string(bytes, from)?;
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        item = next_item(bytes, skip_value(bytes, colon + 1)?);
    }
    None
}

/// The position of the first item of the array or object at `at`. `close` is the closing byte of the expected kind.
pub(super) fn first_item(bytes: &[u8], at: usize, close: u8) -> Option<usize> {
    // In ASCII a closing bracket or brace is its opening one plus two.
    if bytes.get(at) != Some(&(close - 2)) || bytes.get(at + 1)? == &close { None } else { Some(at + 1) }
}

/// The position of the item after one that ended at `end`.
pub(super) fn next_item(bytes: &[u8], end: usize) -> Option<usize> {
    if bytes.get(end) == Some(&b',') { Some(end + 1) } else { None }
}

/// The end of the value at `at`, which is validated only as far as finding the end needs.
pub(super) fn skip_value(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' => skip_string(bytes, at),
        b'[' | b'{' => skip_container(bytes, at),
        _ => {
            let end = skip_scalar(bytes, at);
            if end > at { Some(end) } else { None }
        }
    }
}

/// The end of the number or literal at `at`.
pub(super) fn skip_scalar(bytes: &[u8], at: usize) -> usize {
    let length = bytes[at..]
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'));
    at + length.count()
}

/// The end of the array or object at `at`.
fn skip_container(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut open = 0usize;
    loop {
        match *bytes.get(at)? {
            b'"' => at = skip_string(bytes, at)?,
            b'[' | b'{' => {
                open += 1;
                at += 1;
            }
            b']' | b'}' => {
                open -= 1;
                at += 1;
                if open == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

/// The end of the string whose opening quote is at `at`, just behind its closing quote.
pub(super) fn skip_string(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        // Eight bytes at a time, until one of them is a quote or a backslash.
        while let Some(chunk) = bytes.get(at..at + 8) {
            let word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
            let found = zero_bytes(word ^ repeat(b'"')) | zero_bytes(word ^ repeat(b'\\'));
            if found != 0 {
                at += (found.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A word of eight equal bytes.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the high bit of the lowest byte that is zero, and clears those below it. Bits above it are unspecified.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(repeat(1)) & !word & repeat(0x80)
}
