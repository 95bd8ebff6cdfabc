//! A uniform random sample of the matching points.

use super::Hit;
use super::matching::Matching;
use crate::deadline::Deadline;
use crate::error::Error;
use std::collections::HashSet;

/// `count` different points that match, each set of that size equally likely (Floyd's algorithm, CACM 30(9), 1987).
pub fn sample(matching: &Matching<'_>, count: usize, deadline: &Deadline) -> Result<Vec<Hit>, Error> {
    let offsets = matching.offsets(deadline)?;
    let total = u32::try_from(offsets.len()).expect("offsets are 32 bits");
    let wanted = u32::try_from(count).unwrap_or(u32::MAX).min(total);
    let mut chosen = HashSet::with_capacity(wanted as usize);
    let mut ranks = Vec::with_capacity(wanted as usize);
    for upper in total - wanted..total {
        let rank = random_below(upper + 1)?;
        let rank = if chosen.insert(rank) { rank } else { upper };
        chosen.insert(rank);
        ranks.push(rank);
    }
    Ok(ranks.into_iter().filter_map(|rank| offsets.nth(rank)).map(Hit::unscored).collect())
}

/// A uniform number below `bound`, which is not 0.
fn random_below(bound: u32) -> Result<u32, Error> {
    // Values of the last, incomplete interval are rejected, so that none is favoured.
    let limit = u64::MAX - u64::MAX % u64::from(bound);
    loop {
        let value = getrandom::u64().map_err(|_| Error::Internal("no randomness from the system".into()))?;
        if value < limit {
            return Ok((value % u64::from(bound)) as u32);
        }
    }
}
