//! A uniform random sample of the matching points.

use super::Hit;
use super::matching::Matching;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use std::collections::HashSet;

/// `count` different points that match, in a random order. Each set of that size and each of its orders is equally likely
/// (C6): Floyd's algorithm (CACM 30(9), 1987) chooses the set, Durstenfeld's shuffle (Algorithm 235, CACM 7(7), 1964) its order.
pub fn sample(matching: &Matching<'_>, count: usize, deadline: &Deadline) -> Result<Vec<Hit>, Error> {
    let offsets = matching.offsets(deadline)?;
    let total = u32::try_from(offsets.len()).expect("offsets are 32 bits");
    let wanted = u32::try_from(count).unwrap_or(u32::MAX).min(total);
    let mut chosen = HashSet::with_capacity(wanted as usize);
    let mut ranks = Vec::with_capacity(wanted as usize);
    let mut random = RandomNumbers::default();
    for upper in total - wanted..total {
        let rank = random.below(u64::from(upper) + 1)? as u32;
        let rank = if chosen.insert(rank) { rank } else { upper };
        chosen.insert(rank);
        ranks.push(rank);
    }
    let order = if PlantedFault::SampleNotShuffled.is_on() { 0 } else { wanted };
    for end in (1..order).rev() {
        ranks.swap(end as usize, random.below(u64::from(end) + 1)? as usize);
    }
    Ok(ranks.into_iter().filter_map(|rank| offsets.nth(rank)).map(Hit::unscored).collect())
}

/// Random bytes that are read from the system at a time.
const RANDOM_BYTES: usize = 4096;

/// Random numbers from the system, many at a time.
#[derive(Default)]
pub struct RandomNumbers {
    unused: Vec<u8>,
}

impl RandomNumbers {
    /// A uniform number below `bound`, which is not 0.
    ///
    /// # Errors
    /// `Internal` where the system has none.
    pub fn below(&mut self, bound: u64) -> Result<u64, Error> {
        // Values of the last, incomplete interval are rejected, so that none is favoured.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let value = self.next()?;
            if value < limit {
                return Ok(value % bound);
            }
        }
    }

    fn next(&mut self) -> Result<u64, Error> {
        if self.unused.is_empty() {
            self.unused.resize(RANDOM_BYTES, 0);
            getrandom::fill(&mut self.unused)
                .map_err(|_| Error::Internal("no randomness from the system".into()))?;
        }
        let (rest, number) = self.unused.split_last_chunk().expect("its length is a multiple of eight");
        let number = u64::from_le_bytes(*number);
        self.unused.truncate(rest.len());
        Ok(number)
    }
}
