//! Residuals, and rounding to small integers.

use super::{CodeWidth, LANES, Quantised, Residual};

/// Adding it to a number below 2²² in absolute value rounds that to an integer, ties to even, which is then found in
/// the low bits of the sum.
const ROUNDER: f32 = 12_582_912.0;

/// Codes of eight bits that are read at a time.
const BLOCK: usize = 128;
/// Lanes in which narrower ones are summed, as bytes, …
const BYTES: usize = 32;
/// … of which so many together are below 2⁸.
const NARROW_BLOCK: usize = 16 * BYTES;

#[inline(always)]
pub(super) fn residual(x: &[f32], mean: &[f32], out: &mut [f32]) -> Residual {
    assert_eq!(x.len(), mean.len(), "a mean of another length");
    assert_eq!(x.len(), out.len(), "a residual of another length");
    let (mut squares, mut products) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (x_blocks, x_tail) = x.as_chunks::<LANES>();
    let (mean_blocks, mean_tail) = mean.as_chunks::<LANES>();
    let (out_blocks, out_tail) = out.as_chunks_mut::<LANES>();
    for ((x, mean), out) in x_blocks.iter().zip(mean_blocks).zip(out_blocks) {
        for lane in 0..LANES {
            let r = x[lane] - mean[lane];
            out[lane] = r;
            squares[lane] += r * r;
            products[lane] += x[lane] * mean[lane];
        }
    }
    for (lane, ((&x, &mean), out)) in x_tail.iter().zip(mean_tail).zip(out_tail).enumerate() {
        let r = x - mean;
        *out = r;
        squares[lane] += r * r;
        products[lane] += x * mean;
    }
    Residual { norm_squared: total(squares), mean_dot: total(products) }
}

#[inline(always)]
pub(super) fn max_abs(x: &[f32]) -> f32 {
    let mut max = [0.0f32; LANES];
    let (blocks, tail) = x.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            max[lane] = greater(max[lane], block[lane].abs());
        }
    }
    for (lane, x) in tail.iter().enumerate() {
        max[lane] = greater(max[lane], x.abs());
    }
    tree(max, greater)
}

#[inline(always)]
pub(super) fn quantise(x: &[f32], factor: f32, out: &mut [i8]) -> Quantised {
    assert_eq!(x.len(), out.len(), "codes of another length");
    let mut sums = Sums::default();
    let (x_blocks, x_tail) = x.as_chunks::<LANES>();
    let (out_blocks, out_tail) = out.as_chunks_mut::<LANES>();
    let round = |x: f32| clamp(x * factor, -127.0, 127.0) + ROUNDER;
    for (x, out) in x_blocks.iter().zip(out_blocks) {
        for lane in 0..LANES {
            let rounded = round(x[lane]);
            out[lane] = rounded.to_bits() as i8;
            sums.add(lane, x[lane], rounded - ROUNDER);
        }
    }
    for (lane, (&x, out)) in x_tail.iter().zip(out_tail).enumerate() {
        let rounded = round(x);
        *out = rounded.to_bits() as i8;
        sums.add(lane, x, rounded - ROUNDER);
    }
    sums.total()
}

#[inline(always)]
pub(super) fn encode(x: &[f32], factor: f32, width: CodeWidth, out: &mut [u8]) -> Quantised {
    assert_eq!(x.len(), out.len(), "codes of another length");
    // u = round(factor·x + shift) within least ..= most, v = stretch·u − origin.
    let levels = (1u32 << width.bits()) as f32;
    let (shift, least, stretch, origin) = match width {
        CodeWidth::Eight => (128.0, 1.0, 1.0, 128.0),
        _ => ((levels - 1.0) / 2.0, 0.0, 2.0, levels - 1.0),
    };
    let most = levels - 1.0;
    let mut sums = Sums::default();
    let (x_blocks, x_tail) = x.as_chunks::<LANES>();
    let (out_blocks, out_tail) = out.as_chunks_mut::<LANES>();
    let round = |x: f32| clamp(x * factor + shift, least, most) + ROUNDER;
    for (x, out) in x_blocks.iter().zip(out_blocks) {
        for lane in 0..LANES {
            let rounded = round(x[lane]);
            out[lane] = rounded.to_bits() as u8;
            sums.add(lane, x[lane], (rounded - ROUNDER) * stretch - origin);
        }
    }
    for (lane, (&x, out)) in x_tail.iter().zip(out_tail).enumerate() {
        let rounded = round(x);
        *out = rounded.to_bits() as u8;
        sums.add(lane, x, (rounded - ROUNDER) * stretch - origin);
    }
    sums.total()
}

#[inline(always)]
pub(super) fn decode(codes: &[u8], width: CodeWidth, plane: usize, out: &mut [i8]) -> i32 {
    assert_eq!(codes.len(), out.len(), "integers of another length");
    let mut sum = 0;
    if width == CodeWidth::Eight {
        for (codes, out) in codes.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            for (out, &code) in out.iter_mut().zip(codes) {
                *out = (code ^ 0x80) as i8;
            }
            sum += codes.iter().map(|&code| u32::from(code)).sum::<u32>() as i32 - 128 * codes.len() as i32;
        }
        return sum;
    }
    let (shift, mask) = (plane * width.bits(), (1u8 << width.bits()) - 1);
    let decoded = |byte: u8| {
        let code = (byte >> shift) & mask;
        (code, 2 * code as i8 - mask as i8)
    };
    for (codes, out) in codes.chunks(NARROW_BLOCK).zip(out.chunks_mut(NARROW_BLOCK)) {
        let (code_lanes, code_tail) = codes.as_chunks::<BYTES>();
        let (out_lanes, out_tail) = out.as_chunks_mut::<BYTES>();
        let mut sums = [0u8; BYTES];
        for (codes, out) in code_lanes.iter().zip(out_lanes) {
            for lane in 0..BYTES {
                let (code, v) = decoded(codes[lane]);
                out[lane] = v;
                sums[lane] += code;
            }
        }
        let mut shifted: u32 = sums.into_iter().map(u32::from).sum();
        for (out, &byte) in out_tail.iter_mut().zip(code_tail) {
            let (code, v) = decoded(byte);
            *out = v;
            shifted += u32::from(code);
        }
        sum += 2 * shifted as i32 - i32::from(mask) * codes.len() as i32;
    }
    sum
}

/// ⟨x, v⟩ and Σ v in lanes. Both are sums of `f32`: that of up to 65,536 integers below 256 is exact.
#[derive(Default)]
struct Sums {
    dot: [f32; LANES],
    sum: [f32; LANES],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, lane: usize, x: f32, v: f32) {
        self.dot[lane] += x * v;
        self.sum[lane] += v;
    }

    #[inline(always)]
    fn total(self) -> Quantised {
        Quantised { dot: total(self.dot), sum: total(self.sum) as i32 }
    }
}

#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    tree(lanes, |a, b| a + b)
}

/// Combines the halves of the lanes until one is left.
#[inline(always)]
fn tree(mut lanes: [f32; LANES], combine: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] = combine(lanes[lane], lanes[lane + width]);
        }
        width /= 2;
    }
    lanes[0]
}

// One instruction each; `f32::max` and `f32::clamp` also handle NaN, which does not come here.
#[inline(always)]
fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn clamp(x: f32, least: f32, most: f32) -> f32 {
    let x = if x > least { x } else { least };
    if x < most { x } else { most }
}
