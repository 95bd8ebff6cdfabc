//! Work that is done in pieces, on several threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Builder, scope};

/// Does the pieces of some work on several threads, this one among them, and returns what they gave, in their order. Where the
/// system refuses a thread there are fewer. A panic of a piece is a panic here.
///
/// # Errors
/// That of the first piece which fails. Pieces behind it may be left out.
pub(crate) fn in_pieces<T: Send, E: Send>(
    threads: usize,
    pieces: usize,
    piece: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let has_failed = AtomicBool::new(false);
    let do_some = || {
        let _stop = StopOnPanic(&has_failed);
        let mut done = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= pieces {
                break;
            }
            let result = piece(at);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((at, result));
        }
        done
    };
    let mut done = scope(|scope| {
        let others: Vec<_> = (1..threads.min(pieces))
            .map_while(|_| Builder::new().spawn_scoped(scope, do_some).ok())
            .collect();
        let mut done = do_some();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Lets the other threads begin no further piece when a piece panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_pieces_on_any_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            for pieces in [0, 1, 2, 1000] {
                let doubled = in_pieces(threads, pieces, |at| Ok::<_, ()>(2 * at));
                assert_eq!(doubled, Ok((0..pieces).map(|at| 2 * at).collect()));
            }
        }
    }

    #[test]
    fn the_error_is_that_of_the_first_piece_that_fails() {
        for threads in [1, 3] {
            let failed = in_pieces(threads, 500, |at| if at % 100 == 99 { Err(at) } else { Ok(()) });
            assert_eq!(failed, Err(99));
        }
    }

    #[test]
    #[should_panic(expected = "piece 5")]
    fn a_panic_of_a_piece_is_one_of_the_caller() {
        let _ = in_pieces(2, 10, |at| if at == 5 { panic!("piece {at}") } else { Ok::<_, ()>(()) });
    }
}
