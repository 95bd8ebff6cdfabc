//! One evaluation of a filter on a point.

use super::text_memo::TextMemo;
use crate::deadline::{Deadline, WORK_PER_CHECK};
use crate::error::Error;
use crate::payload::Document;
use std::cell::{Cell, RefCell};

/// What the conditions of a filter share while they are checked on one point.
#[derive(Default)]
pub(super) struct Evaluation<'a> {
    /// The texts of the point's payload.
    pub(super) texts: TextMemo,
    /// None where the document is short: the deadline is checked between points then.
    deadline: Option<&'a Deadline>,
    /// Bytes of the document times conditions since the last check.
    looked_at: Cell<u64>,
    /// Why it was given up.
    ended: RefCell<Option<Error>>,
}

impl<'a> Evaluation<'a> {
    /// An evaluation on a long document, which begins with a check of the deadline.
    pub(super) fn until(deadline: &'a Deadline) -> Evaluation<'a> {
        Evaluation { deadline: Some(deadline), looked_at: Cell::new(WORK_PER_CHECK), ..Evaluation::default() }
    }

    /// Counts a look into the document for one condition. False once the request is given up: then no condition holds, and
    /// [`Evaluation::finish`] fails.
    pub(super) fn may_go_on(&self, document: Document<'_>) -> bool {
        let Some(deadline) = self.deadline else { return true };
        let mut ended = self.ended.borrow_mut();
        if ended.is_none() && self.looked_at.get() >= WORK_PER_CHECK {
            self.looked_at.set(0);
            *ended = deadline.check().err();
        }
        self.looked_at.set(self.looked_at.get() + document.size() as u64);
        ended.is_none()
    }

    /// An error if the request was given up: what the conditions said is not to be used.
    pub(super) fn finish(&self) -> Result<(), Error> {
        self.ended.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use crate::deadline::{Cancellation, Deadline};
    use crate::error::Error;
    use crate::filter::{Filter, PointView};
    use crate::json::Reader;
    use crate::limits::Limits;
    use crate::payload::{JsonPath, Tokenizer};
    use crate::types::PointId;
    use std::borrow::Cow;
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    /// A point whose request is cancelled when the third of its texts is looked at.
    struct Point {
        document: String,
        looks: Cell<usize>,
        cancellation: Cancellation,
    }

    impl PointView for Point {
        fn id(&self) -> Cow<'_, PointId> {
            Cow::Owned(PointId::Num(1))
        }

        fn has_vector(&self, _: &str) -> bool {
            false
        }

        fn document(&self) -> &[u8] {
            self.document.as_bytes()
        }

        fn tokenizer(&self, _: &JsonPath) -> Option<&Tokenizer> {
            self.looks.set(self.looks.get() + 1);
            if self.looks.get() == 3 {
                self.cancellation.cancel();
            }
            None
        }
    }

    /// What a filter of a hundred text conditions says of a document of about so many bytes, and how many it has looked at.
    fn asked(bytes: usize, clause: &str) -> (Result<bool, Error>, usize) {
        let conditions = vec![r#"{"key":"a","match":{"text":"other"}}"#; 100].join(",");
        let filter = format!("{{\"{clause}\":[{conditions}]}}");
        let filter = Filter::parse(&mut Reader::new(filter.as_bytes()).unwrap(), &Limits::default())
            .expect("a filter");
        let point = Point {
            document: format!("{{\"a\":\"{}\"}}", "word ".repeat(bytes / 5)),
            looks: Cell::new(0),
            cancellation: Cancellation::default(),
        };
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(3600), "Count")
            .or_cancelled(point.cancellation.clone());
        (filter.matches_until(&point, filter.work(), Some(&deadline)), point.looks.get())
    }

    #[test]
    fn a_request_is_given_up_within_a_long_document_c1_10() {
        for clause in ["should", "must_not"] {
            assert_eq!(asked(200_000, clause), (Err(Error::Cancelled), 3), "{clause}");
        }
    }

    #[test]
    fn a_short_document_is_looked_at_to_its_end() {
        assert_eq!(asked(1_000, "should"), (Ok(false), 100));
        assert_eq!(asked(1_000, "must_not"), (Ok(true), 100));
    }
}
