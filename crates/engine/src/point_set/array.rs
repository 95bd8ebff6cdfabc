//! Ascending arrays of offsets: the members of a sparse container.

/// If one array is longer than the other by this factor, it is searched for each member of the other rather than read.
const SEARCH_RATIO: usize = 16;

/// The members of both arrays. The first is no longer than the second.
pub(super) fn intersection(one: &[u16], two: &[u16]) -> Vec<u16> {
    if one.len() * SEARCH_RATIO < two.len() {
        return one.iter().copied().filter(|member| two.binary_search(member).is_ok()).collect();
    }
    let mut is_in_both = in_order(two);
    one.iter().copied().filter(|&member| is_in_both(member)).collect()
}

/// A membership test of an array, for queries in ascending order.
pub(super) fn in_order(array: &[u16]) -> impl FnMut(u16) -> bool {
    let mut rest = array.iter().peekable();
    move |member| {
        while rest.next_if(|other| **other < member).is_some() {}
        rest.peek() == Some(&&member)
    }
}

/// The members of either array.
pub(super) fn union(one: &[u16], two: &[u16]) -> Vec<u16> {
    let mut both = Vec::with_capacity(one.len() + two.len());
    let (mut one, mut two) = (one.iter().peekable(), two.iter().peekable());
    while let (Some(&&first), Some(&&second)) = (one.peek(), two.peek()) {
        both.push(first.min(second));
        one.next_if(|_| first <= second);
        two.next_if(|_| second <= first);
    }
    both.extend(one);
    both.extend(two);
    both
}
