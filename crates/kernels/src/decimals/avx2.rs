//! Lists of decimal numbers with 256-bit vectors.
//!
//! The commas of 64 characters are found at once, so that parsing a number does not depend on the number before it. Up
//! to 22 digits become an integer in a dozen instructions. Numbers of the form `0.ddd` are read like this, others by
//! the portable code.

use super::ReadList;
use super::scalar::{LARGEST_POWER, POWERS, behind, eight_digits, read_one, rounds_safely};
use std::arch::x86_64::*;

/// Characters that are searched for commas at a time.
const BLOCK: usize = 64;
/// Characters that are read from a number's first digit on; they must exist.
const AHEAD: usize = 32;
/// Characters in front of a number's end of which its digits are the last; they must be there too.
const BEHIND: usize = 24;
/// Digits in the lower part of an integer.
const LOW_DIGITS: usize = 16;
const TEN_TO_16: u64 = 10_000_000_000_000_000;
/// The highest upper part with which the whole integer is below 2⁶³, as the conversion of signed integers wants it.
const LARGEST_HIGH: u64 = 921;

/// Bytes n to n + 16 select the last n of 16 characters.
static LAST: [u8; 2 * LOW_DIGITS] = {
    let mut mask = [0; 2 * LOW_DIGITS];
    let mut at = LOW_DIGITS;
    while at < mask.len() {
        mask[at] = 0xff;
        at += 1;
    }
    mask
};

/// [`super::read_list`] with AVX2, or `None` where this CPU lacks it.
pub(super) fn read_list() -> Option<ReadList> {
    // SAFETY: the instructions that `list` is compiled for are there.
    (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1"))
        .then_some(|text, at, out| unsafe { list(text, at, out) })
}

/// # Safety
/// The CPU has AVX2 and BMI1.
#[target_feature(enable = "avx2,bmi1")]
unsafe fn list(text: &[u8], mut at: usize, out: &mut Vec<f32>) -> usize {
    let comma = _mm256_set1_epi8(b',' as i8);
    let mut block = at;
    while let Some(characters) = text.get(block..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        // SAFETY: the block has twice 32 characters.
        let (front, back) = unsafe {
            (
                _mm256_loadu_si256(characters.as_ptr().cast()),
                _mm256_loadu_si256(characters[32..].as_ptr().cast()),
            )
        };
        let commas = |half| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, comma)) as u32);
        let mut commas = commas(front) | commas(back) << 32;
        while commas != 0 {
            let end = block + commas.trailing_zeros() as usize;
            commas &= commas - 1;
            // SAFETY: as for this function.
            at = match unsafe { below_one(text, at, end) } {
                Some(value) => {
                    out.push(value);
                    behind(text, end)
                }
                None => match read_one(text, at, out) {
                    Some(next) => next,
                    None => return at,
                },
            };
        }
        block += BLOCK;
    }
    super::scalar::read_list(text, at, out)
}

/// The number from `at` to the comma at `end`, if it has the form `-?0.d+` with at most 22 digits of which at most 19
/// count, is not zero, and is not at the very beginning or end of the text.
///
/// # Safety
/// The CPU has AVX2 and BMI1.
#[inline]
#[target_feature(enable = "avx2,bmi1")]
unsafe fn below_one(text: &[u8], at: usize, end: usize) -> Option<f32> {
    if at < BEHIND || at + AHEAD + 1 > text.len() {
        return None;
    }
    let negative = text[at] == b'-';
    let from = at + usize::from(negative);
    let digits = end.wrapping_sub(from + 2);
    let zeros = _mm256_set1_epi8(b'0' as i8);
    // SAFETY: at + 1 + 32 characters are there, and `from` is at most at + 1.
    let window = unsafe { _mm256_loadu_si256(text.as_ptr().add(from).cast()) };
    let values = _mm256_sub_epi8(window, zeros);
    let are_digits = _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values);
    let others = !(_mm256_movemask_epi8(are_digits) as u32);
    // Behind "0." digits up to the comma.
    if text[from] != b'0'
        || text[from + 1] != b'.'
        || digits.wrapping_sub(1) >= LARGEST_POWER
        || (others >> 2).trailing_zeros() as usize != digits
    {
        return None;
    }

    // SAFETY: end ≥ at ≥ 24, and the mask has 16 bytes from at most 16 on.
    let (characters, last) = unsafe {
        (
            _mm_loadu_si128(text.as_ptr().add(end - LOW_DIGITS).cast()),
            _mm_loadu_si128(LAST.as_ptr().add(digits.min(LOW_DIGITS)).cast()),
        )
    };
    let low = _mm_and_si128(_mm_sub_epi8(characters, _mm256_castsi256_si128(zeros)), last);
    // Adjacent digits are combined: to pairs, to fours, to eights.
    let pairs = _mm_maddubs_epi16(low, _mm_set1_epi16(0x010a));
    let fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064));
    let eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x0001_2710));
    let joined = _mm_cvtsi128_si64(eights) as u64;
    let low = (joined & 0xffff_ffff) * 100_000_000 + (joined >> 32);

    let upper: [u8; 8] = text[end - BEHIND..end - LOW_DIGITS].try_into().expect("eight characters");
    let upper_digits = digits.saturating_sub(LOW_DIGITS);
    let selected = (!0u64 << 1) << (63 - 8 * upper_digits);
    let high = eight_digits((u64::from_le_bytes(upper) ^ 0x3030_3030_3030_3030) & selected);
    if high > LARGEST_HIGH {
        return None;
    }

    let value = (high * TEN_TO_16 + low) as i64 as f64 / POWERS[digits];
    let magnitude = (value as f32).to_bits();
    rounds_safely(value).then(|| f32::from_bits(magnitude | u32::from(negative) << 31))
}
