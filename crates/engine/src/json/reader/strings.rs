//! Reading strings.

use super::{Kind, Reader, Result};
use std::borrow::Cow;

impl<'a> Reader<'a> {
    /// Reads a string.
    pub fn string(&mut self) -> Result<Cow<'a, str>> {
        self.expect(Kind::String)?;
        self.string_token()
    }

    /// Reads a string. The next byte is its opening quote.
    pub(super) fn string_token(&mut self) -> Result<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let at = plain_end(bytes, start);
        match bytes.get(at) {
            Some(b'"') => {
                self.at = at + 1;
                return Ok(Cow::Borrowed(&self.text[start..at]));
            }
            Some(b'\\') => {}
            Some(_) => {
                self.at = at;
                return Err(self.syntax("control character in a string"));
            }
            None => {
                self.at = at;
                return Err(self.syntax("unterminated string"));
            }
        }
        let mut out = String::from(&self.text[start..at]);
        self.at = at;
        self.escaped_rest(&mut out)?;
        Ok(Cow::Owned(out))
    }

    /// Reads the rest of a string from its first escape on.
    fn escaped_rest(&mut self, out: &mut String) -> Result<()> {
        let bytes = self.text.as_bytes();
        loop {
            let from = self.at;
            self.at = plain_end(bytes, from);
            out.push_str(&self.text[from..self.at]);
            match bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let escape = bytes.get(self.at + 1).copied();
                    let simple = match escape {
                        Some(byte @ (b'"' | b'\\' | b'/')) => byte as char,
                        Some(b'n') => '\n',
                        Some(b't') => '\t',
                        Some(b'r') => '\r',
                        Some(b'b') => '\u{8}',
                        Some(b'f') => '\u{c}',
                        Some(b'u') => {
                            out.push(self.unicode_escape()?);
                            continue;
                        }
                        _ => return Err(self.syntax("unknown escape in a string")),
                    };
                    out.push(simple);
                    self.at += 2;
                }
                Some(_) => return Err(self.syntax("control character in a string")),
                None => return Err(self.syntax("unterminated string")),
            }
        }
    }

    fn unicode_escape(&mut self) -> Result<char> {
        let high = self.hex4(self.at + 2)?;
        if let Some(character) = char::from_u32(high) {
            self.at += 6;
            return Ok(character);
        }
        let low =
            if (0xd800..0xdc00).contains(&high) && self.text.as_bytes()[self.at + 6..].starts_with(b"\\u") {
                self.hex4(self.at + 8)?
            } else {
                0
            };
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.syntax("unpaired surrogate in a string"));
        }
        let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        self.at += 12;
        char::from_u32(code).ok_or_else(|| self.syntax("unpaired surrogate in a string"))
    }

    fn hex4(&self, from: usize) -> Result<u32> {
        let digits = self.text.as_bytes().get(from..from + 4);
        let mut value = 0;
        for &byte in digits.ok_or_else(|| self.syntax("unterminated string"))? {
            let digit = (byte as char).to_digit(16).ok_or_else(|| self.syntax("malformed \\u escape"))?;
            value = value * 16 + digit;
        }
        Ok(value)
    }
}

/// The position of the first quote, backslash or control character from `at` on. Reads eight bytes at a time.
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x80 * ONES;
    // Sets the high bit of the first byte that is below a limit of at most 128. Bits behind it are unspecified.
    let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word & HIGH_BITS;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    while let Some(group) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*group);
        let special = below(word, 0x20) | equal(word, b'"') | equal(word, b'\\');
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while !matches!(bytes.get(at), None | Some(b'"' | b'\\' | 0..=0x1f)) {
        at += 1;
    }
    at
}
