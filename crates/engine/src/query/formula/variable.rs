//! The variables of a formula, and their defaults.

use crate::error::Error;
use crate::json::{Kind, Reader, read_value};
use crate::limits::MAX_FORMULA_TERMS;
use crate::payload::{Document, JsonPath, Value};
use std::collections::HashMap;

/// What a name in a formula stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Variable {
    /// `$score` or `$score[i]`: the score in the prefetch of that number.
    Score(usize),
    /// A path into the payload.
    Payload(JsonPath),
}

impl Variable {
    /// The variable of a name that `reader` has just read.
    ///
    /// # Errors
    /// `BadRequest`: an unknown `$word`, or no path.
    pub(super) fn parse(name: &str, reader: &Reader<'_>) -> Result<Variable, Error> {
        if !name.starts_with('$') {
            return match JsonPath::parse(name) {
                Ok(path) => Ok(Variable::Payload(path)),
                Err(error) => Err(reader.error(error.to_string())),
            };
        }
        let index = match name.strip_prefix("$score") {
            Some("") => Some(0),
            Some(rest) => index(rest),
            None => None,
        };
        index.map(Variable::Score).ok_or_else(|| {
            let shown: String = name.chars().take(SHOWN_CHARACTERS).collect();
            reader.error(format!("unknown variable '{shown}', expected $score, $score[i] or a payload path"))
        })
    }
}

/// Characters of an unknown variable that its error repeats.
const SHOWN_CHARACTERS: usize = 60;

/// The number in brackets.
fn index(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('[')?.strip_suffix(']')?;
    // The standard parser would take a sign too.
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// What stands for variables that a point has no value for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    scores: HashMap<usize, f64>,
    /// Normalised JSON of any kind.
    values: HashMap<JsonPath, Box<[u8]>>,
}

impl Defaults {
    /// Reads `defaults`: a map of variables to values. A `null` is no default.
    ///
    /// # Errors
    /// `BadRequest` that names the place: an unknown variable, a default of a score that is no number, too many.
    pub fn parse(reader: &mut Reader<'_>) -> Result<Defaults, Error> {
        let mut defaults = Defaults::default();
        reader.object(|r, name| {
            let variable = Variable::parse(name, r)?;
            let is_null = r.peek()? == Kind::Null;
            match variable {
                Variable::Score(index) => match r.optional(Reader::f64)? {
                    Some(score) => drop(defaults.scores.insert(index, score)),
                    None => drop(defaults.scores.remove(&index)),
                },
                Variable::Payload(path) => {
                    let mut value = Vec::new();
                    read_value(r, &mut value)?;
                    if is_null {
                        defaults.values.remove(&path);
                    } else {
                        defaults.values.insert(path, value.into());
                    }
                }
            }
            if defaults.scores.len() + defaults.values.len() > MAX_FORMULA_TERMS {
                return Err(r.error(format!("more than {MAX_FORMULA_TERMS} defaults in a formula")));
            }
            Ok(())
        })?;
        Ok(defaults)
    }

    /// The default of the score in a prefetch: 0 unless given.
    pub(super) fn score(&self, prefetch: usize) -> f64 {
        self.scores.get(&prefetch).copied().unwrap_or(0.0)
    }

    /// The default of a payload variable.
    pub(super) fn value(&self, path: &JsonPath) -> Option<Value<'_>> {
        self.values.get(path).and_then(|json| Document::new(json).root())
    }
}
