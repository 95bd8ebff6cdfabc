//! How far a walk goes on for groups.

use super::*;

/// Adds a row with this estimate to a group.
fn meet(slots: &mut Slots<'_>, group: u32, estimate: f32) {
    let row = Row::new(slots.slots.iter().map(|slot| slot.rows.estimates.len() as u32).sum());
    slots.add((estimate, row), Keys::One(Some(group)), true);
}

#[test]
fn a_walk_wants_groups_until_enough_have_a_row_within_its_radius() {
    let keys = KeyColumn::of_sizes(&[100; 4]);
    let mut slots = Slots::new(&keys, (2, 1), 400);
    assert!(slots.needs_groups());
    meet(&mut slots, 0, 0.1);
    meet(&mut slots, 1, 0.9);
    slots.settle(0.5);
    assert!(slots.needs_groups(), "the second group lies beyond the radius");
    assert_eq!(slots.further(16, 16).map(|further| further.width), Some(32));
    slots.settle(0.9);
    assert!(!slots.needs_groups());
    assert!(!slots.goes_on(16, 16), "both groups have their row");
    assert!(slots.further(16, 16).is_none());
}

#[test]
fn no_more_groups_are_wanted_than_there_are() {
    let keys = KeyColumn::of_sizes(&[5, 5]);
    let mut slots = Slots::new(&keys, (10, 1), 10);
    meet(&mut slots, 0, 0.1);
    meet(&mut slots, 1, 0.2);
    slots.settle(1.0);
    assert!(!slots.needs_groups());
}

#[test]
fn a_slot_has_any_of_the_groups_that_were_met_and_no_other() {
    let keys = KeyColumn::of_sizes(&[1; 200]);
    let mut slots = Slots::new(&keys, (200, 1), 200);
    for met in [0, 1, 63, 64, 130] {
        assert!(!slots.has_any(Keys::One(Some(met))), "{met}");
        meet(&mut slots, met, 0.1);
    }
    let has: Vec<u32> = (0..200).filter(|&group| slots.has_any(Keys::One(Some(group)))).collect();
    assert_eq!(has, [0, 1, 63, 64, 130]);
    assert!(!slots.has_any(Keys::One(None)));
}

/// The width that a walk goes on with for one group that is met and not filled.
fn width_for(members: u32, size: usize, rows: u64, began: usize, width: usize) -> usize {
    let keys = KeyColumn::of_sizes(&[members]);
    let mut slots = Slots::new(&keys, (1, size), rows);
    meet(&mut slots, 0, 0.1);
    slots.settle(0.1);
    assert!(!slots.needs_groups());
    let next = slots.further(began, width).map_or(width, |further| further.width);
    assert_eq!(slots.goes_on(began, width), next > width);
    next
}

#[test]
fn a_walk_goes_on_for_a_group_where_that_costs_less_than_comparing_its_members() {
    // Two rows of a tenth of all are expected within 1.3 × 2 × 10 ranks: few steps of 11 distances beside the 13,000 of the
    // members.
    assert_eq!(width_for(10_000, 2, 99_000, 20, 20), 26);
    // No further than to twice the width at a time.
    assert_eq!(width_for(10_000, 2, 99_000, 10, 10), 20);
    // Two rows of fifty among 248 are expected within 13 ranks: three steps beside the 65 distances of the members.
    assert_eq!(width_for(50, 2, 248, 10, 10), 13);
    // Among 288 they are expected within 15: five steps of 11 distances are less than the 65, and more than the 50 members.
    assert_eq!(width_for(50, 2, 288, 10, 10), 15);
    // Among 346 they are expected within 18: eight steps cost more than the members.
    assert_eq!(width_for(50, 2, 346, 10, 10), 10);
    // Steps beyond twice the first width compare wanted rows only, and cost less: eight of them are less than the members.
    assert_eq!(width_for(50, 2, 540, 10, 20), 29);
}

#[test]
fn beyond_a_multiple_of_its_first_width_a_walk_compares_wanted_rows_only() {
    let keys = KeyColumn::of_sizes(&[10_000; 2]);
    let mut slots = Slots::new(&keys, (1, 2), 200_000);
    meet(&mut slots, 0, 0.1);
    let only_wanted = |slots: &mut Slots<'_>, began, width| slots.further(began, width).unwrap().only_wanted;
    assert!(!only_wanted(&mut slots, 10, 79), "a better group must not be missed");
    assert!(only_wanted(&mut slots, 10, 80));
    slots.settle(0.1);
    assert!(!only_wanted(&mut slots, 10, 19));
    assert!(only_wanted(&mut slots, 10, 20));
}

#[test]
fn a_group_that_was_met_is_known_again() {
    let keys = KeyColumn::of_sizes(&[1; 2000]);
    let mut slots = Slots::new(&keys, (10, 1), 2000);
    for group in [3, 70, 1500] {
        assert!(!slots.has_any(Keys::One(Some(group))));
        meet(&mut slots, group, 0.1);
        assert!(slots.has_any(Keys::One(Some(group))));
    }
    assert!(!slots.has_any(Keys::One(Some(4))));
    // Its bit is that of group 1500.
    assert!(!slots.has_any(Keys::One(Some(1500 - QUICK))));
    assert!(!slots.has_any(Keys::One(None)));
    assert!(slots.has_any(Keys::Several(&[4, 70])));
}
