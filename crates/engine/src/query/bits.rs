//! A set of offsets that answers in a nanosecond or two whether it holds one.

use roaring::RoaringBitmap;

/// Bytes of the bits of one container: offsets that share their upper half.
const CONTAINER_BYTES: usize = 8 << 10;
/// Containers with at most so many offsets are lists in the serialised form.
const MAX_LIST: usize = 4096;
/// First word of a serialised bitmap without run containers.
const COOKIE_WITHOUT_RUNS: u32 = 12346;

/// The bits of a [`RoaringBitmap`], for loops that ask for so many offsets in random order that the search for a
/// container and the match on its kind count. Making one costs about a copy of the bitmap.
pub struct Bits {
    bytes: Vec<u8>,
    /// Where in `bytes` the bits of a container begin, by the upper half of the offsets.
    places: Vec<u32>,
}

impl Bits {
    /// The bits of a bitmap.
    ///
    /// Read from the bitmap's serialised form (the public format of Roaring bitmaps), in which dense containers are
    /// their bits: there is no other way to them that does not go offset by offset.
    pub fn of(bitmap: &RoaringBitmap) -> Bits {
        // What is in no container has its bits in the first, empty one.
        let mut bytes = Vec::with_capacity(CONTAINER_BYTES + bitmap.serialized_size());
        bytes.resize(CONTAINER_BYTES, 0);
        bitmap.serialize_into(&mut bytes).expect("memory takes what is written");
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        if word(CONTAINER_BYTES) != COOKIE_WITHOUT_RUNS {
            return Self::one_by_one(bitmap);
        }
        let count = word(CONTAINER_BYTES + 4) as usize;
        let (heads, starts) = (CONTAINER_BYTES + 8, CONTAINER_BYTES + 8 + 4 * count);
        let containers: Vec<(usize, usize, usize)> = (0..count)
            .map(|at| {
                let (key, len) = (half(heads + 4 * at), half(heads + 4 * at + 2) + 1);
                (key, len, CONTAINER_BYTES + word(starts + 4 * at) as usize)
            })
            .collect();
        let mut places = vec![0u32; containers.last().map_or(0, |(key, ..)| key + 1)];
        for (key, len, start) in containers {
            places[key] = if len > MAX_LIST {
                start as u32
            } else {
                let bits = bytes.len();
                bytes.resize(bits + CONTAINER_BYTES, 0);
                for at in (start..start + 2 * len).step_by(2) {
                    let low = usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
                    bytes[bits + low / 8] |= 1 << (low % 8);
                }
                bits as u32
            };
        }
        Bits { bytes, places }
    }

    fn one_by_one(bitmap: &RoaringBitmap) -> Bits {
        let keys = bitmap.max().map_or(0, |max| (max as usize >> 16) + 1);
        let mut bytes = vec![0; CONTAINER_BYTES * (1 + keys)];
        for offset in bitmap {
            bytes[CONTAINER_BYTES + offset as usize / 8] |= 1 << (offset % 8);
        }
        Bits { bytes, places: (1..=keys as u32).map(|key| key * CONTAINER_BYTES as u32).collect() }
    }

    /// Whether the offset is in the set.
    #[inline(always)]
    pub fn contains(&self, offset: u32) -> bool {
        let place = self.places.get((offset >> 16) as usize).copied().unwrap_or(0);
        let low = (offset & 0xffff) as usize;
        self.bytes[place as usize + low / 8] >> (low % 8) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bitmap: &RoaringBitmap, others: impl Iterator<Item = u32>) {
        let bits = Bits::of(bitmap);
        assert!(bitmap.iter().all(|offset| bits.contains(offset)));
        others.for_each(|offset| assert_eq!(bits.contains(offset), bitmap.contains(offset), "{offset}"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn bits_are_those_of_the_bitmap(
            scattered in prop::collection::vec(0u32..400_000, 0..300),
            dense in (0u32..300_000, 0u32..80_000, 1usize..4),
        ) {
            let (from, length, step) = dense;
            let mut bitmap: RoaringBitmap = scattered.iter().copied().collect();
            bitmap.extend((from..from + length).step_by(step));
            check(&bitmap, (0..450_000).step_by(7).chain(scattered));
        }
    }

    #[test]
    fn empty_full_and_run_containers_have_their_bits() {
        let mut runs = RoaringBitmap::new();
        runs.insert_range(10..200_000);
        runs.remove_range(70_000..70_100);
        let plain = runs.clone();
        runs.optimize();
        for bitmap in [RoaringBitmap::new(), plain, runs, RoaringBitmap::from_iter([u32::MAX, 0])] {
            check(&bitmap, (0..300_000).step_by(3).chain([u32::MAX, u32::MAX - 1]));
        }
    }
}
