//! Filters of the model: what they match, and which part a point fails.

use super::model::Point;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub enum Condition {
    Below(i64),
    Colour(&'static str),
    /// One part has both.
    Part(i64, &'static str),
    Inner(Box<Filter>),
}

#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub must: Vec<Condition>,
    pub should: Vec<Condition>,
    pub must_not: Vec<Condition>,
    pub min_should: Option<(usize, Vec<Condition>)>,
}

impl Condition {
    fn holds(&self, point: &Point) -> bool {
        match self {
            Condition::Below(most) => point.n < *most,
            Condition::Colour(colour) => point.parts.iter().any(|part| part.1 == *colour),
            Condition::Part(size, colour) => point.parts.contains(&(*size, colour)),
            Condition::Inner(filter) => filter.failing(point).is_none(),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Condition::Below(most) => json!({"key": "n", "range": {"lt": most}}),
            Condition::Colour(colour) => json!({"key": "parts[].colour", "match": {"value": colour}}),
            Condition::Part(size, colour) => json!({"nested": {"key": "parts", "filter": {"must": [
                {"key": "size", "match": {"value": size}}, {"key": "colour", "match": {"value": colour}}]}}}),
            Condition::Inner(filter) => filter.json(),
        }
    }
}

impl Filter {
    /// The place of the first part that a point fails.
    pub fn failing(&self, point: &Point) -> Option<String> {
        for (at, condition) in self.must.iter().enumerate() {
            match condition {
                Condition::Inner(filter) => {
                    if let Some(below) = filter.failing(point) {
                        return Some(format!("must[{at}].{below}"));
                    }
                }
                other if other.holds(point) => {}
                _ => return Some(format!("must[{at}]")),
            }
        }
        if !self.should.is_empty() && !self.should.iter().any(|condition| condition.holds(point)) {
            return Some("should".into());
        }
        if let Some(at) = self.must_not.iter().position(|condition| condition.holds(point)) {
            return Some(format!("must_not[{at}]"));
        }
        let (least, conditions) = self.min_should.as_ref()?;
        let held = conditions.iter().filter(|condition| condition.holds(point)).count();
        (held < *least).then(|| "min_should".into())
    }

    pub fn json(&self) -> Value {
        let list = |conditions: &[Condition]| conditions.iter().map(Condition::json).collect::<Vec<_>>();
        let mut filter = json!({});
        for (name, part) in [("must", &self.must), ("should", &self.should), ("must_not", &self.must_not)] {
            if !part.is_empty() {
                filter[name] = json!(list(part));
            }
        }
        if let Some((least, conditions)) = &self.min_should {
            filter["min_should"] = json!({"conditions": list(conditions), "min_count": least});
        }
        filter
    }
}
