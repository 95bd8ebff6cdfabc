//! The lock-free steps of the graph, over any atomic word: the model checker of the tests has its own.

use std::sync::atomic::{AtomicU32, Ordering, fence};

/// An atomic `u32`.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u32;
    fn store(&self, value: u32, order: Ordering);
    /// Stores `new` with release order if the value is `present`, and returns the value otherwise.
    fn replace(&self, present: u32, new: u32) -> Result<u32, u32>;
    /// Makes what was written before the stores that relaxed loads have seen visible.
    fn acquire();
}

impl Word for AtomicU32 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u32 {
        AtomicU32::load(self, order)
    }

    #[inline(always)]
    fn store(&self, value: u32, order: Ordering) {
        AtomicU32::store(self, value, order);
    }

    #[inline(always)]
    fn replace(&self, present: u32, new: u32) -> Result<u32, u32> {
        self.compare_exchange_weak(present, new, Ordering::AcqRel, Ordering::Acquire)
    }

    #[inline(always)]
    fn acquire() {
        fence(Ordering::Acquire);
    }
}

/// Calls `each` with the words of a list up to its first 0.
///
/// A reader that follows a link sees what was written before it, such as the links of its node: the loads are relaxed,
/// and one fence at the end orders all of them.
#[inline(always)]
pub(super) fn read_list<W: Word>(words: &[W], mut each: impl FnMut(u32)) {
    for word in words {
        let value = word.load(Ordering::Relaxed);
        if value == 0 {
            break;
        }
        each(value);
    }
    W::acquire();
}

/// Writes a list over the one that is there. A reader meanwhile sees some mixture of both. Panics when it is too long.
pub(super) fn write_list<W: Word>(words: &[W], list: impl IntoIterator<Item = u32>) {
    let mut places = words.iter();
    for value in list {
        let place = places.next().expect("no more links than the row has words");
        place.store(value, Ordering::Release);
    }
    for place in places {
        place.store(0, Ordering::Release);
    }
}

/// Puts an element before the first one of a chain: `head` names the first, and each names its `next`.
pub(super) fn push_front<W: Word>(head: &W, next: &W, element: u32) {
    let mut present = head.load(Ordering::Acquire);
    loop {
        next.store(present, Ordering::Relaxed);
        match head.replace(present, element) {
            Ok(_) => return,
            Err(other) => present = other,
        }
    }
}

#[cfg(test)]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32 as Modelled;

    use super::*;

    impl Word for Modelled {
        fn load(&self, order: Ordering) -> u32 {
            Modelled::load(self, order)
        }

        fn store(&self, value: u32, order: Ordering) {
            Modelled::store(self, value, order);
        }

        fn replace(&self, present: u32, new: u32) -> Result<u32, u32> {
            self.compare_exchange_weak(present, new, Ordering::AcqRel, Ordering::Acquire)
        }

        fn acquire() {
            loom::sync::atomic::fence(Ordering::Acquire);
        }
    }

    fn words<const N: usize>() -> Arc<[Modelled; N]> {
        Arc::new(std::array::from_fn(|_| Modelled::new(0)))
    }

    fn list(words: &[Modelled]) -> Vec<u32> {
        let mut list = Vec::new();
        read_list(words, |value| list.push(value));
        list
    }

    #[test]
    fn in_every_order_of_events_who_meets_a_node_finds_its_links() {
        loom::model(|| {
            // A parent, whose list is being rewritten, and a child that is new.
            let (parent, child) = (words::<2>(), words::<2>());
            parent[0].store(9, Ordering::Relaxed);
            let writer = {
                let (parent, child) = (Arc::clone(&parent), Arc::clone(&child));
                loom::thread::spawn(move || {
                    write_list(&child[..], [5, 6]);
                    write_list(&parent[..], [7, 9]);
                })
            };
            if list(&parent[..]).contains(&7) {
                assert_eq!(list(&child[..]), [5, 6]);
            }
            writer.join().expect("the writer");
            assert_eq!(list(&parent[..]), [7, 9]);
        });
    }

    #[test]
    fn in_every_order_of_events_a_chain_ends_and_keeps_what_was_pushed() {
        loom::model(|| {
            // Word 0 is the head; word n is what follows element n.
            let chain = words::<4>();
            let elements = |chain: &[Modelled]| {
                let next =
                    |&at: &u32| Some(chain[at as usize].load(Ordering::Acquire)).filter(|&next| next > 0);
                std::iter::successors(next(&0), next).take(4).collect::<Vec<u32>>()
            };
            push_front(&chain[0], &chain[1], 1);
            let pushers: Vec<_> = [2, 3]
                .map(|element| {
                    let chain = Arc::clone(&chain);
                    loom::thread::spawn(move || push_front(&chain[0], &chain[element as usize], element))
                })
                .into();
            let seen = elements(&chain[..]);
            assert!(seen.len() <= 3 && seen.last() == Some(&1), "{seen:?}");
            pushers.into_iter().for_each(|pusher| pusher.join().expect("a pusher"));
            let mut all = elements(&chain[..]);
            all.sort_unstable();
            assert_eq!(all, [1, 2, 3]);
        });
    }
}
