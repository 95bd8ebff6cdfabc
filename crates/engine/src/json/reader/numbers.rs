//! Reading numbers and dense vectors.

use super::{Kind, Reader, Result, Step};
use kithdb_kernels::{read_f32, read_list};

impl<'a> Reader<'a> {
    /// Reads a number as text, which is valid JSON.
    pub fn number_text(&mut self) -> Result<&'a str> {
        self.expect(Kind::Number)?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut at = start + usize::from(bytes[start] == b'-');
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at = digits(bytes, at),
            _ => return Err(self.syntax("malformed number")),
        }
        if bytes.get(at) == Some(&b'.') {
            let from = at + 1;
            at = digits(bytes, from);
            if at == from {
                return Err(self.syntax("malformed number"));
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            let from = at;
            at = digits(bytes, from);
            if at == from {
                return Err(self.syntax("malformed number"));
            }
        }
        self.at = at;
        Ok(&self.text[start..at])
    }

    /// Reads an unsigned integer. `1.0` is an error.
    pub fn u64(&mut self) -> Result<u64> {
        self.expect(Kind::Number)?;
        let text = self.number_text()?;
        text.parse()
            .map_err(|_| self.error(format!("expected an unsigned 64-bit integer, got {}", shorten(text))))
    }

    /// Reads an unsigned integer from `min` to `max`.
    pub fn integer_in(&mut self, min: u64, max: u64) -> Result<u64> {
        let value = self.u64()?;
        if value < min {
            return Err(self.error(format!("value {value} invalid, must be {min} or larger")));
        }
        if value > max {
            return Err(self.error(format!("value {value} invalid, must be {max} or smaller")));
        }
        Ok(value)
    }

    /// Reads a finite number.
    pub fn f64(&mut self) -> Result<f64> {
        let text = self.number_text()?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!("expected a finite number, got {}", shorten(text)))),
        }
    }

    /// Reads a number that is finite as `f32`, correctly rounded.
    pub fn f32(&mut self) -> Result<f32> {
        self.expect(Kind::Number)?;
        if let Some((value, end)) = read_f32(self.text.as_bytes(), self.at) {
            self.at = end;
            return Ok(value);
        }
        let text = self.number_text()?;
        match text.parse::<f32>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(self.error(format!(
                "expected a number within the range of 32-bit floats, got {}",
                shorten(text)
            ))),
        }
    }

    /// Appends the numbers of an array, a dense vector, to `out`. Numbers in usual forms are read without updating the path,
    /// which only errors need.
    pub fn f32_array(&mut self, out: &mut Vec<f32>) -> Result<()> {
        if self.peek()? == Kind::Array && self.is_at_packed() {
            return self.packed_floats(out);
        }
        let first = out.len();
        self.array(|r, _| {
            r.skip_space();
            r.at = read_list(r.text.as_bytes(), r.at, out);
            r.skip_space();
            *r.path.last_mut().expect("an array is entered") = Step::Index(out.len() - first);
            out.push(r.f32()?);
            Ok(())
        })
    }
}

/// The position behind the digits from `at` on.
fn digits(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// The beginning of a number's text, for a message: a body may have a number of a million digits.
fn shorten(text: &str) -> String {
    if text.len() <= 40 { text.to_string() } else { format!("{}…", &text[..40]) }
}
