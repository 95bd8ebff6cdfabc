//! Which condition of a filter a point fails.

use super::evaluate::{PointView, Subject};
use super::evaluation::Evaluation;
use super::{Condition, Filter};
use crate::deadline::Deadline;
use crate::error::Error;

impl Filter {
    /// Where the first part of the filter stands that the point fails, such as `must[1].should`: one condition of `must`
    /// or `must_not`, or a whole group of which too few hold. `None` for a point that matches.
    ///
    /// # Errors
    /// Those of the deadline, which is checked between conditions.
    pub fn failing(&self, point: &impl PointView, deadline: &Deadline) -> Result<Option<String>, Error> {
        let evaluation = Evaluation::until(deadline);
        let failing = self.failing_part(&Subject::of_point(point, &evaluation));
        evaluation.finish().map(|()| failing)
    }

    fn failing_part<P: PointView>(&self, subject: &Subject<'_, P>) -> Option<String> {
        let in_must = self.must.iter().enumerate().find_map(|(at, condition)| {
            let below = match condition {
                Condition::Filter(filter) => filter.failing_part(subject)?,
                other if other.holds(subject) => return None,
                _ => String::new(),
            };
            Some(joined(&format!("must[{at}]"), &below))
        });
        in_must.or_else(|| {
            let holds = |condition: &Condition| condition.holds(subject);
            if !self.should.is_empty() && !self.should.iter().any(holds) {
                return Some("should".to_string());
            }
            if let Some(at) = self.must_not.iter().position(holds) {
                return Some(format!("must_not[{at}]"));
            }
            (!self.holds(subject)).then(|| "min_should".to_string())
        })
    }
}

/// A place below another one.
fn joined(place: &str, below: &str) -> String {
    if below.is_empty() { place.to_string() } else { format!("{place}.{below}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Reader;
    use crate::limits::Limits;
    use crate::payload::{JsonPath, Tokenizer};
    use crate::types::PointId;
    use std::borrow::Cow;
    use std::time::{Duration, Instant};

    struct Point(&'static str);

    impl PointView for Point {
        fn id(&self) -> Cow<'_, PointId> {
            Cow::Owned(PointId::Num(7))
        }

        fn has_vector(&self, name: &str) -> bool {
            name.is_empty()
        }

        fn document(&self) -> &[u8] {
            self.0.as_bytes()
        }

        fn tokenizer(&self, _: &JsonPath) -> Option<&Tokenizer> {
            None
        }
    }

    #[test]
    fn the_first_part_that_fails_is_named_by_its_place() {
        let failing = |filter: &str| {
            let mut reader = Reader::new(filter.as_bytes()).unwrap();
            let filter = Filter::parse(&mut reader, &Limits::default()).unwrap();
            let hour = Deadline::new(Instant::now(), Duration::from_secs(3600), "Query");
            let point = Point(r#"{"a":1}"#);
            let place = filter.failing(&point, &hour).expect("an hour has not passed");
            let matches = filter.matches(&point);
            assert_eq!(place.is_none(), matches);
            place.unwrap_or_default()
        };
        let (yes, no) = (r#"{"key":"a","match":{"value":1}}"#, r#"{"key":"a","match":{"value":2}}"#);
        assert_eq!(failing(&format!(r#"{{"must":[{yes}],"should":[{no},{yes}],"must_not":[{no}]}}"#)), "");
        assert_eq!(failing(&format!(r#"{{"must":[{yes},{no}]}}"#)), "must[1]");
        assert_eq!(failing(&format!(r#"{{"must":{no}}}"#)), "must[0]");
        assert_eq!(failing(&format!(r#"{{"should":[{no},{no}]}}"#)), "should");
        assert_eq!(failing(&format!(r#"{{"must_not":[{no},{yes}]}}"#)), "must_not[1]");
        assert_eq!(
            failing(&format!(r#"{{"min_should":{{"conditions":[{yes},{no}],"min_count":2}}}}"#)),
            "min_should"
        );
        let inner = format!(r#"{{"must":[{yes},{{"must":{yes},"must_not":[{yes}]}}]}}"#);
        assert_eq!(failing(&format!(r#"{{"must":[{yes},{inner}]}}"#)), "must[1].must[1].must_not[0]");
        assert_eq!(failing(r#"{"must":[{"has_id":[1]}]}"#), "must[0]");
        assert_eq!(failing("{}"), "");
    }
}
