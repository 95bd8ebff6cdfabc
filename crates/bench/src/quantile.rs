//! Quantiles of what was measured.

/// The value that so large a share of all values is at most, without interpolation; not a number where there are none.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

/// The value in the middle; not a number where there are none.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}
