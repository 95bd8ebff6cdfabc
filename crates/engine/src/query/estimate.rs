//! What work takes, estimated before it is done: whether a read is a light one. A wrong estimate costs little, because the
//! time that a read really uses makes it heavy as well. Measured on Zen 4.

use crate::error::Error;
use crate::limits::MAX_COMPARED_COMPONENTS;
use std::time::Duration;

/// Nanoseconds to read a point and its document.
const POINT: u64 = 100;
/// Nanoseconds to check a condition on a document.
const CONDITION: u64 = 100;
/// Nanoseconds to fetch a row and compare it, apart from its length.
const ROW: u64 = 5;
/// Bytes of a row that are compared in a nanosecond.
const BYTES_COMPARED: u64 = 16;
/// Components that are compared in a nanosecond.
const COMPONENTS_COMPARED: u64 = 4;

/// Checks of a filter with so many conditions on documents.
pub fn documents(points: u64, conditions: usize) -> Duration {
    let each = POINT.saturating_add(CONDITION.saturating_mul(conditions as u64));
    Duration::from_nanos(points.saturating_mul(each))
}

/// Comparisons of rows of so many bytes with one vector.
pub fn rows(count: u64, row_bytes: usize) -> Duration {
    Duration::from_nanos(count.saturating_mul(ROW + row_bytes as u64 / BYTES_COMPARED))
}

/// Comparisons of points with examples that have so many components together.
///
/// # Errors
/// `BadRequest` when that is more than one request may cost.
pub fn comparisons(points: u64, examples: usize, components: usize) -> Result<Duration, Error> {
    let compared = points.saturating_mul(components as u64);
    if compared > MAX_COMPARED_COMPONENTS {
        return Err(Error::bad(format!(
            "the query may compare {examples} vectors, {components} components, with {points} points: points \
             multiplied by components may be at most {MAX_COMPARED_COMPONENTS}; use fewer examples or a filter"
        )));
    }
    let fetched = points.saturating_mul(ROW).saturating_mul(examples as u64);
    Ok(Duration::from_nanos(fetched.saturating_add(compared / COMPONENTS_COMPARED)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling::lane::LIGHT_WORK;

    #[test]
    fn a_search_of_thousands_is_light_and_a_filter_without_index_over_many_is_heavy() {
        assert!(rows(2_000, 128 * 4) < LIGHT_WORK && rows(1_000_000, 128 * 4) > LIGHT_WORK);
        assert!(documents(2_000, 1) < LIGHT_WORK && documents(60_000, 100) > LIGHT_WORK);
        assert!(comparisons(2_000, 2, 256).unwrap() < LIGHT_WORK);
        assert!(comparisons(60_000, 10_000, 1_280_000).unwrap() > LIGHT_WORK);
        assert_eq!(documents(u64::MAX, usize::MAX), Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn more_comparisons_than_one_request_may_cost_are_refused_c2_7() {
        assert!(comparisons(MAX_COMPARED_COMPONENTS / 1000, 10, 1000).is_ok());
        let error = comparisons(MAX_COMPARED_COMPONENTS / 1000 + 1, 10, 1000).unwrap_err();
        assert!(matches!(error, Error::BadRequest(_)), "{error}");
    }
}
