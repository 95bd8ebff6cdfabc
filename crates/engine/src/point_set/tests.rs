use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Offsets in a few containers: scattered ones and runs with gaps, so that there are arrays, bitmaps and full containers.
fn offsets() -> impl Strategy<Value = BTreeSet<u32>> {
    let scattered = prop::collection::vec(0u32..300_000, 0..40);
    let run = (0u32..200_000, 0u32..140_000, prop_oneof![Just(1usize), 2usize..100]);
    let runs = prop::collection::vec(run, 0..3);
    let far = prop::option::of(u32::MAX - 100..=u32::MAX);
    (scattered, runs, far).prop_map(|(scattered, runs, far)| {
        let runs = runs.into_iter().flat_map(|(from, length, step)| (from..from + length).step_by(step));
        scattered.into_iter().chain(runs).chain(far).collect()
    })
}

fn at(number: u32) -> PointOffset {
    PointOffset::new(number)
}

fn set(offsets: &BTreeSet<u32>) -> PointSet {
    PointSet::of(offsets.iter().copied())
}

fn is(found: &PointSet, expected: &BTreeSet<u32>) -> Result<(), TestCaseError> {
    prop_assert!(found.iter().map(PointOffset::get).eq(expected.iter().copied()));
    prop_assert_eq!(found.len(), expected.len() as u64);
    let ends = [found.min(), found.max()].map(|end| end.map(PointOffset::get));
    prop_assert_eq!(ends, [expected.first().copied(), expected.last().copied()]);
    // Equal sets have equal representations.
    prop_assert!(*found == set(expected));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sets_combine_as_those_of_the_standard_library_do(one in offsets(), two in offsets()) {
        let (a, b) = (set(&one), set(&two));
        is(&a, &one)?;
        is(&(&a & &b), &(&one & &two))?;
        is(&(&a | &b), &(&one | &two))?;
        is(&(&a - &b), &(&one - &two))?;
        let mut both = a.clone();
        both |= &b;
        both |= &b;
        is(&both, &(&one | &two))?;
        is(&(&a & &a), &one)?;
        is(&(&a - &a), &BTreeSet::new())?;
        is(&(&(&a | &b) - &b), &(&one - &two))?;
    }

    #[test]
    fn a_snapshot_stays_as_it_was(
        before in offsets(),
        changes in prop::collection::vec((0u32..300_000, any::<bool>()), 1..60),
    ) {
        let (snapshot, mut now, mut expected) = (set(&before), set(&before), before.clone());
        for (offset, inserts) in changes {
            // The second time nothing changes.
            for _ in 0..2 {
                let (did, should) = if inserts {
                    (now.insert(at(offset)), expected.insert(offset))
                } else {
                    (now.remove(at(offset)), expected.remove(&offset))
                };
                prop_assert_eq!(did, should);
            }
        }
        is(&now, &expected)?;
        is(&snapshot, &before)?;
    }

    #[test]
    fn single_offsets_are_found(one in offsets(), asked in prop::collection::vec(0u32..320_000, 40)) {
        let (a, bits) = (set(&one), set(&one).bits());
        for offset in asked.into_iter().chain(one.iter().copied().step_by(997)).chain([0, u32::MAX - 50, u32::MAX]) {
            prop_assert_eq!(a.contains(at(offset)), one.contains(&offset));
            prop_assert_eq!(bits.contains(at(offset)), one.contains(&offset));
            prop_assert_eq!(a.at_or_after(at(offset)), one.range(offset..).next().copied().map(at));
        }
    }

    #[test]
    fn points_are_counted_in_bits(one in offsets(), two in offsets()) {
        prop_assert_eq!(set(&one).count_in(&set(&two).bits()), one.intersection(&two).count() as u64);
    }

    #[test]
    fn ranks_are_positions_in_ascending_order(one in offsets(), ranks in prop::collection::vec(prop_oneof![0usize..2_000, 0usize..200_000], 20)) {
        let a = set(&one);
        for rank in ranks.iter().copied().chain([0, one.len() / 2, one.len().saturating_sub(1), one.len()]) {
            prop_assert_eq!(a.nth(rank as u32), one.iter().nth(rank).copied().map(at));
        }
        let mut ranks = ranks;
        ranks.sort_unstable();
        let found: Vec<PointOffset> = ranks.iter().filter_map(|&rank| one.iter().nth(rank).copied().map(at)).collect();
        prop_assert_eq!(a.at_ranks(ranks.into_iter().map(|rank| rank as u32)), found);
    }

    #[test]
    fn a_sample_has_as_many_of_each_part(one in offsets(), count in 1u32..300) {
        let all: Vec<PointOffset> = one.into_iter().map(at).collect();
        let sample = PointSet::from_sorted(&all).sample(count);
        if all.len() <= count as usize {
            prop_assert_eq!(sample, all);
        } else {
            prop_assert_eq!(sample.len(), count as usize);
            for (place, offset) in sample.into_iter().enumerate() {
                let rank = all.binary_search(&offset).unwrap();
                let count = count as usize;
                prop_assert!(rank * count / all.len() <= place && (rank + 1) * count > place * all.len());
            }
        }
    }

    #[test]
    fn words_become_sets_and_sets_words(one in offsets()) {
        let near: BTreeSet<u32> = one.into_iter().filter(|&offset| offset < 400_000).collect();
        let mut words = vec![0; 400_000 / 64];
        set(&near).add_to_words(&mut words);
        is(&PointSet::from_words(&words), &near)?;
    }
}

#[test]
fn containers_change_between_array_and_bitmap_in_both_directions() {
    let most = container::MAX_ARRAY as u32;
    let mut expected: BTreeSet<u32> = (0..most - 2).map(|n| n * 3).collect();
    let mut now = set(&expected);
    for offset in (1..20).step_by(3) {
        assert!(now.insert(at(offset)) && expected.insert(offset));
        is(&now, &expected).unwrap();
    }
    for offset in (1..20).step_by(3) {
        assert!(now.remove(at(offset)) && expected.remove(&offset));
        is(&now, &expected).unwrap();
    }
    let mut full: BTreeSet<u32> = (0..1 << 16).collect();
    let mut now = set(&full);
    assert!(now.remove(at(77)) && full.remove(&77));
    is(&now, &full).unwrap();
    assert!(now.insert(at(77)));
    assert_eq!((now.len(), now.max()), (1 << 16, Some(at(0xffff))));
    let mut one = PointSet::from([at(70_000)]);
    assert!(one.remove(at(70_000)) && one.is_empty());
}

#[test]
fn results_with_as_many_members_as_an_array_may_have_are_represented_as_everywhere() {
    let most = container::MAX_ARRAY as u32;
    let to = |end: u32| (0..end).collect::<BTreeSet<u32>>();
    for len in most - 1..=most + 2 {
        let beyond = (len..len + 2000).chain([70_000]).collect::<BTreeSet<u32>>();
        let (all, other) = (to(len + 2000), (len - 1..60_000).collect());
        is(&(&set(&all) - &set(&beyond)), &to(len)).unwrap();
        is(&(&set(&all) & &set(&to(len))), &to(len)).unwrap();
        is(&(&set(&to(len - 1)) | &set(&[len - 1].into())), &to(len)).unwrap();
        is(&(&set(&to(len)) & &set(&other)), &[len - 1].into()).unwrap();
        let evens: BTreeSet<u32> = (0..len * 2).step_by(2).collect();
        let thirds: BTreeSet<u32> = (0..len * 6).step_by(3).collect();
        is(&(&set(&evens) & &set(&thirds)), &(&evens & &thirds)).unwrap();
        is(&(&set(&thirds) - &set(&evens)), &(&thirds - &evens)).unwrap();
        let mut words = vec![0; 100];
        set(&to(len)).add_to_words(&mut words);
        is(&PointSet::from_words(&words), &to(len)).unwrap();
    }
}

#[test]
fn a_change_copies_one_container_and_unchanged_ones_are_shared() {
    let large = PointSet::of((0..1_000_000).filter(|offset| offset % 7 != 3));
    let mut changed = large.clone();
    changed.insert(at(500_006));
    let shared =
        large.containers.iter().zip(changed.containers.iter()).filter(|(one, two)| one.is_same(two)).count();
    assert_eq!((large.containers.len(), shared), (16, 15));
    let (all, some) = (
        PointSet::of(0..2_000_000),
        PointSet::of(large.numbers().into_iter().filter(|offset| offset % 2 == 0)),
    );
    let are_same = |one: &PointSet, two: &PointSet| {
        one.containers.iter().zip(two.containers.iter()).all(|(one, two)| one.is_same(two))
    };
    assert!(are_same(&large, &(&large & &all)) && are_same(&large, &(&all & &large)));
    assert!(are_same(&some, &(&large & &some)) && are_same(&some, &(&some & &large)));
    assert!(are_same(&large, &(&large | &some)) && are_same(&large, &(&some | &large)));
    assert!(are_same(&all, &(&large | &all)) && are_same(&all, &(&all | &large)));
}
