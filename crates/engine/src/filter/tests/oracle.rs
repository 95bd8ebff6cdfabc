//! A second, naive implementation of C7, on filters and payloads as JSON trees. It shares no code with the engine.

use super::oracle_geo;
use serde_json::Value;

/// The instants of the date-times that the generators use, in microseconds since the epoch.
pub(super) const DATETIMES: [(&str, i64); 6] = [
    ("2024-01-01", 1_704_067_200_000_000),
    ("2024-01-01T00:00:00Z", 1_704_067_200_000_000),
    ("2024-01-01 01:00+0100", 1_704_067_200_000_000),
    ("2024-01-01T00:00:00.000001Z", 1_704_067_200_000_001),
    ("1969-12-31T23:59:59Z", -1_000_000),
    ("2031-07-09T12:30", 1_941_366_600_000_000),
];

/// What a point has beside its payload.
pub(super) struct Subject<'a> {
    /// As it is answered.
    pub id: &'a Value,
    pub vectors: &'a [&'a str],
}

/// Whether a payload matches a filter: that of `subject`, or, without one, an object inside a payload.
pub(super) fn matches(filter: &Value, subject: Option<&Subject<'_>>, payload: &Value) -> bool {
    let list = |group: &str| -> Vec<Value> {
        match filter.get(group) {
            None | Some(Value::Null) => vec![],
            Some(Value::Array(list)) => list.clone(),
            Some(one) => vec![one.clone()],
        }
    };
    let (must, should, must_not) = (list("must"), list("should"), list("must_not"));
    let enough = match filter.get("min_should") {
        None | Some(Value::Null) => true,
        Some(group) => {
            let conditions = group["conditions"].as_array().unwrap();
            let held = conditions.iter().filter(|one| condition(one, subject, payload)).count();
            conditions.is_empty() || held as u64 >= group["min_count"].as_u64().unwrap()
        }
    };
    must.iter().all(|one| condition(one, subject, payload))
        && (should.is_empty() || should.iter().any(|one| condition(one, subject, payload)))
        && must_not.iter().all(|one| !condition(one, subject, payload))
        && enough
}

fn condition(condition: &Value, subject: Option<&Subject<'_>>, payload: &Value) -> bool {
    let object = condition.as_object().unwrap();
    if let Some(ids) = object.get("has_id") {
        return subject.is_some_and(|point| ids.as_array().unwrap().iter().any(|id| is_equal(id, point.id)));
    }
    if let Some(name) = object.get("has_vector") {
        return subject.is_some_and(|point| point.vectors.contains(&name.as_str().unwrap()));
    }
    if let Some(nested) = object.get("nested") {
        let mut key = nested["key"].as_str().unwrap().to_string();
        if !key.ends_with("[]") {
            key.push_str("[]");
        }
        return select(payload, &key)
            .into_iter()
            .any(|element| element.is_object() && matches(&nested["filter"], None, element));
    }
    if let Some(Value::Object(of)) = object.get("is_empty") {
        return is_empty(&select(payload, of["key"].as_str().unwrap()));
    }
    if let Some(Value::Object(of)) = object.get("is_null") {
        return is_null(&select(payload, of["key"].as_str().unwrap()));
    }
    let Some(key) = object.get("key") else { return matches(condition, subject, payload) };
    let at = select(payload, key.as_str().unwrap());
    let values: Vec<&Value> = at
        .iter()
        .flat_map(|value| match value {
            Value::Array(list) => list.iter().collect(),
            one => vec![*one],
        })
        .collect();
    object.iter().any(|(kind, clause)| match kind.as_str() {
        "key" => false,
        "match" => values.iter().any(|value| is_match(clause, value)),
        "range" => values.iter().any(|value| in_range(clause, value)),
        "geo_radius" => values.iter().any(|value| oracle_geo::in_radius(clause, value)),
        "geo_bounding_box" => values.iter().any(|value| oracle_geo::in_box(clause, value)),
        "geo_polygon" => values.iter().any(|value| oracle_geo::in_polygon(clause, value)),
        "values_count" => {
            let counts: Vec<u64> =
                if at.is_empty() { vec![0] } else { at.iter().map(|value| count(value)).collect() };
            counts.into_iter().any(|n| within(n as f64, clause, |bound| bound.as_u64().unwrap() as f64))
        }
        "is_empty" => is_empty(&at) == clause.as_bool().unwrap(),
        "is_null" => is_null(&at) == clause.as_bool().unwrap(),
        other => panic!("{other}"),
    })
}

/// The values of a path.
fn select<'v>(root: &'v Value, path: &str) -> Vec<&'v Value> {
    let mut found = vec![root];
    let mut rest = path;
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let elements = found.into_iter().filter_map(Value::as_array);
            found = match inside {
                "" => elements.flatten().collect(),
                index => elements.filter_map(|list| list.get(index.parse::<usize>().unwrap())).collect(),
            };
            rest = after;
            continue;
        }
        let (key, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap(),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        found = found.into_iter().filter_map(|value| value.as_object()?.get(key)).collect();
        rest = after;
    }
    found
}

fn is_empty(at: &[&Value]) -> bool {
    at.iter().all(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
}

fn is_null(at: &[&Value]) -> bool {
    at.iter()
        .any(|value| value.is_null() || value.as_array().is_some_and(|list| list.iter().any(Value::is_null)))
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::Array(list) => list.len() as u64,
        _ => 1,
    }
}

fn is_match(clause: &Value, value: &Value) -> bool {
    let (kind, wanted) = clause.as_object().unwrap().iter().next().unwrap();
    let words = |text: &str| -> Vec<String> {
        // Letter by letter: whether a sigma ends its word makes no difference.
        let lower: String =
            text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect();
        lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(String::from)
            .collect()
    };
    match kind.as_str() {
        "value" => is_equal(wanted, value),
        "any" => wanted.as_array().unwrap().iter().any(|one| is_equal(one, value)),
        "except" => !value.is_null() && !wanted.as_array().unwrap().iter().any(|one| is_equal(one, value)),
        "prefix" => value.as_str().is_some_and(|text| text.starts_with(wanted.as_str().unwrap())),
        "substring" => value.as_str().is_some_and(|text| text.contains(wanted.as_str().unwrap())),
        _ => {
            let Some(text) = value.as_str() else { return false };
            let (text, wanted) = (words(text), words(wanted.as_str().unwrap()));
            match kind.as_str() {
                "text" => !wanted.is_empty() && wanted.iter().all(|word| text.contains(word)),
                "text_any" => wanted.iter().any(|word| text.contains(word)),
                "phrase" => !wanted.is_empty() && text.windows(wanted.len()).any(|window| *window == *wanted),
                other => panic!("{other}"),
            }
        }
    }
}

fn is_equal(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::String(a), Value::String(b)) => a == b || (uuid(a).is_some() && uuid(a) == uuid(b)),
        (Value::Number(a), Value::Number(b)) => a.as_i64().is_some() && a.as_i64() == b.as_i64(),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        _ => false,
    }
}

fn uuid(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let digits = lower.strip_prefix("urn:uuid:").unwrap_or(&lower).replace('-', "");
    (digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}

fn instant(text: &str) -> Option<i64> {
    DATETIMES.iter().find(|(known, _)| *known == text).map(|(_, micros)| *micros)
}

fn in_range(clause: &Value, value: &Value) -> bool {
    if clause.as_object().unwrap().values().any(Value::is_string) {
        let micros = value.as_str().and_then(instant);
        return micros.is_some_and(|micros| {
            within(micros as f64, clause, |bound| instant(bound.as_str().unwrap()).unwrap() as f64)
        });
    }
    value.is_number() && within(number(value), clause, number)
}

pub(super) fn number(value: &Value) -> f64 {
    value.to_string().parse().unwrap()
}

fn within(value: f64, bounds: &Value, read: impl Fn(&Value) -> f64) -> bool {
    bounds.as_object().unwrap().iter().all(|(kind, bound)| {
        let bound = read(bound);
        match kind.as_str() {
            "gt" => value > bound,
            "gte" => value >= bound,
            "lt" => value < bound,
            "lte" => value <= bound,
            other => panic!("{other}"),
        }
    })
}
