//! Random seeds of segments and identities of operations.

/// A stream of numbers that differ between runs; SplitMix64 over a start from the operating system.
#[derive(Debug)]
pub(super) struct Entropy {
    run: u64,
    state: u64,
}

impl Entropy {
    /// `fixed` makes the stream repeatable, for simulations.
    pub(super) fn new(fixed: Option<u64>) -> Self {
        let from_system = || getrandom::u64().unwrap_or_else(|_| clock_nanos());
        let state = fixed.unwrap_or_else(from_system);
        let mut entropy = Self { run: 0, state };
        entropy.run = entropy.next();
        entropy
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 64 bits of the run and 64 that never repeat within it.
    pub(super) fn op_id(&mut self) -> u128 {
        u128::from(self.run) << 64 | u128::from(self.next())
    }
}

/// Distinct seeds where the operating system provides no entropy; nothing here is a secret.
fn clock_nanos() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map_or(0, |elapsed| elapsed.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_identities_of_a_run_begin_alike_and_are_all_different() {
        let begin = |id: u128| (id >> 64) as u64;
        let mut entropy = Entropy::new(Some(7));
        let ids: Vec<u128> = (0..100).map(|_| entropy.op_id()).collect();
        assert!(ids.iter().all(|id| begin(*id) == begin(ids[0])));
        assert_ne!(begin(Entropy::new(Some(8)).op_id()), begin(ids[0]), "of another run");
        let ends: BTreeSet<u64> = ids.iter().map(|id| *id as u64).collect();
        assert_eq!(ends.len(), ids.len());
    }
}
