//! A second, naive reading of formulas, over JSON trees.

use crate::filter::GeoPoint;
use serde_json::Value;

/// The date-times that the generators use, in seconds since the epoch.
pub(super) const DATETIMES: [(&str, f64); 3] =
    [("1970-01-01", 0.0), ("2024-01-01T00:00:00.5Z", 1_704_067_200.5), ("1969-12-31T23:00-0030", -1_800.0)];

/// What a formula is calculated from.
pub(super) struct Input<'a> {
    pub id: u64,
    pub payload: &'a Value,
    pub scores: &'a [Option<f32>],
    pub defaults: &'a Value,
}

/// The score; `None` stands for an error.
pub(super) fn score(expression: &Value, input: &Input<'_>) -> Option<f32> {
    let score = input.value(expression)? as f32;
    score.is_finite().then_some(score)
}

impl Input<'_> {
    fn value(&self, expression: &Value) -> Option<f64> {
        let value = match expression {
            Value::Number(_) => number(expression)?,
            Value::String(name) => self.variable(name)?,
            expression => {
                let (operation, of) = expression.as_object().unwrap().iter().next().unwrap();
                self.operation(operation, of, expression)?
            }
        };
        value.is_finite().then_some(value)
    }

    fn operation(&self, operation: &str, of: &Value, expression: &Value) -> Option<f64> {
        let all = || of.as_array().unwrap().iter();
        Some(match operation {
            "sum" => {
                let mut sum = 0.0;
                for term in all() {
                    sum += self.value(term)?;
                }
                sum
            }
            "mult" => {
                let mut product = 1.0;
                for factor in all() {
                    match self.value(factor)? {
                        0.0 => return Some(0.0),
                        factor => product *= factor,
                    }
                }
                product
            }
            "neg" => -self.value(of)?,
            "abs" => self.value(of)?.abs(),
            "sqrt" => self.value(of)?.sqrt(),
            "exp" => self.value(of)?.exp(),
            "ln" => self.value(of)?.ln(),
            "log10" => self.value(of)?.log10(),
            "pow" => self.value(&of["base"])?.powf(self.value(&of["exponent"])?),
            "div" => {
                let left = self.value(&of["left"])?;
                if left == 0.0 {
                    return Some(0.0);
                }
                let right = self.value(&of["right"])?;
                match number(&of["by_zero_default"]) {
                    Some(default) if right == 0.0 => default,
                    _ => left / right,
                }
            }
            "datetime" => instant(of)?,
            "datetime_key" => instant(&self.only(of.as_str().unwrap())?)?,
            "geo_distance" => {
                place(&of["origin"])?.distance_m(place(&self.only(of["to"].as_str().unwrap())?)?)
            }
            "lin_decay" | "exp_decay" | "gauss_decay" => self.decay(operation, of)?,
            _ => f64::from(u8::from(self.condition(expression))),
        })
    }

    /// By the definitions as they are published, with a factor for the distance.
    fn decay(&self, curve: &str, of: &Value) -> Option<f64> {
        let x = self.value(&of["x"])?;
        let target = if of["target"].is_null() { 0.0 } else { self.value(&of["target"])? };
        let (scale, middle) = (number(&of["scale"]).unwrap_or(1.0), number(&of["midpoint"]).unwrap_or(0.5));
        let d = (x - target).abs();
        Some(match curve {
            "lin_decay" => (1.0 - (1.0 - middle) / scale * d).max(0.0),
            "exp_decay" => (middle.ln() / scale * d).exp(),
            _ => (middle.ln() / (scale * scale) * d * d).exp(),
        })
    }

    /// `{has_id}`, or `{key, match: {value}}` on a bare key.
    fn condition(&self, condition: &Value) -> bool {
        match condition.get("has_id") {
            Some(ids) => ids.as_array().unwrap().iter().any(|id| id.as_u64() == Some(self.id)),
            None => match &self.payload[condition["key"].as_str().unwrap()] {
                Value::Array(list) => list.contains(&condition["match"]["value"]),
                one => *one == condition["match"]["value"],
            },
        }
    }

    fn variable(&self, name: &str) -> Option<f64> {
        let Some(prefetch) = name.strip_prefix("$score") else { return number(&self.only(name)?) };
        let prefetch: usize =
            if prefetch.is_empty() { 0 } else { prefetch[1..prefetch.len() - 1].parse().unwrap() };
        let score = self.scores.get(prefetch).copied().flatten().map(f64::from);
        let default = || number(&self.defaults[format!("$score[{prefetch}]")]);
        Some(score.or_else(default).unwrap_or(0.0))
    }

    /// The one value at a bare key, or its default.
    fn only(&self, key: &str) -> Option<Value> {
        let opened = |value: &Value| match value {
            Value::Array(list) => list.clone(),
            one => vec![one.clone()],
        };
        let mut values = opened(&self.payload[key]);
        if values.is_empty() || values == [Value::Null] {
            values = opened(&self.defaults[key]);
        }
        if values.len() == 1 { values.pop() } else { None }
    }
}

fn number(value: &Value) -> Option<f64> {
    if value.is_number() { value.to_string().parse().ok() } else { None }
}

fn instant(value: &Value) -> Option<f64> {
    let text = value.as_str()?;
    DATETIMES.iter().find(|(known, _)| *known == text).map(|(_, seconds)| *seconds)
}

fn place(value: &Value) -> Option<GeoPoint> {
    Some(GeoPoint { lon: number(value.get("lon")?)?, lat: number(value.get("lat")?)? })
}
