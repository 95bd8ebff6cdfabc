//! Encoders as bytes.

use std::fmt;

use kithdb_kernels::CodeWidth;

use super::encoder::Encoder;
use super::layout::CodeParams;
use crate::types::Metric;

const MAGIC: &[u8; 4] = b"KEN1";

impl Encoder {
    /// Appends the encoder, as [`Encoder::read_from`] reads it. The caller guards the bytes by a checksum.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.push(match self.metric {
            Metric::Cosine => 0,
            Metric::Euclid => 1,
            Metric::Dot => 2,
            Metric::Manhattan => unreachable!("refused by `with`"),
        });
        out.push(self.params.bits);
        out.push(u8::from(self.params.half));
        out.extend_from_slice(&self.params.quantile.unwrap_or(0.0).to_le_bytes());
        out.extend_from_slice(&self.range.to_le_bytes());
        out.extend_from_slice(&(self.dim as u32).to_le_bytes());
        out.extend_from_slice(&self.seed.to_le_bytes());
        out.extend(self.mean.iter().flat_map(|m| m.to_le_bytes()));
    }

    /// Reads an encoder that takes all of `bytes`. It encodes as the one that was written, bit for bit.
    pub fn read_from(bytes: &[u8]) -> Result<Encoder, FormatError> {
        let mut rest = bytes;
        if take(&mut rest)? != *MAGIC {
            return Err(FormatError("not an encoder of this release"));
        }
        let [metric, bits, half] = take(&mut rest)?;
        let metric = match metric {
            0 => Metric::Cosine,
            1 => Metric::Euclid,
            2 => Metric::Dot,
            _ => return Err(FormatError("a metric without codes")),
        };
        let quantile = f32::from_le_bytes(take(&mut rest)?);
        let range = f32::from_le_bytes(take(&mut rest)?);
        let dim = u32::from_le_bytes(take(&mut rest)?) as usize;
        let seed = u64::from_le_bytes(take(&mut rest)?);
        let params_hold = CodeWidth::of_bits(bits).is_some()
            && half <= 1
            && (quantile == 0.0 || quantile > 0.5 && quantile <= 1.0)
            && range >= 1.0;
        if !params_hold || !(1..=65_536).contains(&dim) || rest.len() != dim * 4 {
            return Err(FormatError("an encoder with parameters out of range"));
        }
        let mean: Vec<f32> = rest.as_chunks::<4>().0.iter().map(|&m| f32::from_le_bytes(m)).collect();
        if mean.iter().any(|m| !m.is_finite()) {
            return Err(FormatError("an encoder with a mean that is no number"));
        }
        let quantile = (quantile != 0.0).then_some(quantile);
        let params = CodeParams { bits, half: half == 1, quantile };
        Ok(Encoder::with(metric, dim, params, seed, mean, range))
    }
}

/// What bytes that are no encoder or no codes have wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatError(pub(super) &'static str);

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for FormatError {}

/// The first bytes of `rest`, which then starts behind them.
pub(super) fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], FormatError> {
    let (first, after) = rest.split_first_chunk().ok_or(FormatError("bytes are missing"))?;
    *rest = after;
    Ok(*first)
}
