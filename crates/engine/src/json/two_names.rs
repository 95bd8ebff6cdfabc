//! Fields that have two names.

/// A field of an object that has two names. The last one that is not null counts, and null takes back only what the same name
/// has given (C1.8, C1.10).
pub struct TwoNames<T> {
    given: [Option<T>; 2],
    /// The place of the last one that is not null.
    last: usize,
}

impl<T> Default for TwoNames<T> {
    fn default() -> TwoNames<T> {
        TwoNames { given: [None, None], last: 0 }
    }
}

impl<T> TwoNames<T> {
    /// Takes what stands under one of the names, `None` for null.
    pub fn put(&mut self, is_second: bool, value: Option<T>) {
        let at = usize::from(is_second);
        if value.is_some() {
            self.last = at;
        }
        self.given[at] = value;
    }

    /// What counts.
    pub fn take(self) -> Option<T> {
        let TwoNames { given: [first, second], last } = self;
        if last == 0 { first.or(second) } else { second.or(first) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(values: &[(bool, Option<u32>)]) -> Option<u32> {
        let mut field = TwoNames::default();
        values.iter().for_each(|(is_second, value)| field.put(*is_second, *value));
        field.take()
    }

    #[test]
    fn the_last_that_is_not_null_counts_and_null_takes_back_what_its_name_gave_c1_8_c1_10() {
        assert_eq!(taken(&[]), None);
        assert_eq!(taken(&[(false, Some(1)), (true, None)]), Some(1));
        assert_eq!(taken(&[(true, Some(1)), (false, None)]), Some(1));
        assert_eq!(taken(&[(false, Some(1)), (true, Some(2))]), Some(2));
        assert_eq!(taken(&[(true, Some(1)), (false, Some(2))]), Some(2));
        assert_eq!(taken(&[(false, Some(1)), (false, None)]), None);
        assert_eq!(taken(&[(false, Some(1)), (true, Some(2)), (true, None)]), Some(1));
        assert_eq!(taken(&[(false, Some(1)), (false, None), (false, Some(3))]), Some(3));
    }
}
