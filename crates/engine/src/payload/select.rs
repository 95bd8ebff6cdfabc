//! Selecting the part of a payload that a read answers (C6.1).

use super::document::{Document, Value};
use super::path::{JsonPath, Step};
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::MAX_PATHS;

/// Which parts of a payload a read answers.
#[derive(Clone, Debug, PartialEq)]
pub enum PayloadSelector {
    /// No payload.
    None,
    /// The whole payload.
    All,
    /// The values of these paths.
    Include(Vec<JsonPath>),
    /// All but the values of these paths.
    Exclude(Vec<JsonPath>),
}

impl PayloadSelector {
    /// Reads `with_payload`: a boolean, a list of paths, `{include}` or `{exclude}`.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<PayloadSelector, Error> {
        match reader.peek()? {
            Kind::Bool => Ok(if reader.bool()? { PayloadSelector::All } else { PayloadSelector::None }),
            Kind::Array => Ok(PayloadSelector::Include(paths(reader)?)),
            Kind::Object => {
                let (mut include, mut exclude) = (None, None);
                reader.object(|r, key| {
                    match key {
                        "include" => include = r.optional(paths)?,
                        "exclude" => exclude = r.optional(paths)?,
                        _ => r.unknown()?,
                    }
                    Ok(())
                })?;
                match (include, exclude) {
                    (Some(paths), None) => Ok(PayloadSelector::Include(paths)),
                    (None, Some(paths)) => Ok(PayloadSelector::Exclude(paths)),
                    _ => Err(reader.error("expected either include or exclude")),
                }
            }
            _ => {
                Err(reader.error("expected a boolean, a list of paths, or an object with include or exclude"))
            }
        }
    }

    /// How many paths are evaluated on each document.
    pub fn paths(&self) -> usize {
        match self {
            PayloadSelector::None | PayloadSelector::All => 0,
            PayloadSelector::Include(paths) | PayloadSelector::Exclude(paths) => paths.len(),
        }
    }

    /// Appends what is selected of a normalised document to `out`, as normalised JSON; `{}` for
    /// [`PayloadSelector::None`].
    ///
    /// Structure is kept: objects and arrays on the way to an included value are shown, without what is not included. A
    /// scalar on the way is shown. Only `[]` selects elements of an array: a path with `[n]`, or without brackets, selects
    /// none.
    pub fn select(&self, doc: &[u8], out: &mut Vec<u8>) {
        match self {
            PayloadSelector::None => out.extend_from_slice(b"{}"),
            PayloadSelector::All => out.extend_from_slice(doc),
            PayloadSelector::Include(paths) => {
                let active: Vec<&[Step]> = paths.iter().map(JsonPath::steps).collect();
                copy(doc, &active, true, out);
            }
            PayloadSelector::Exclude(paths) => {
                let active: Vec<&[Step]> = paths.iter().map(JsonPath::steps).collect();
                copy(doc, &active, false, out);
            }
        }
    }
}

fn paths(reader: &mut Reader<'_>) -> Result<Vec<JsonPath>, Error> {
    let place = reader.path();
    let mut list = Vec::new();
    reader.array(|r, index| {
        if index >= MAX_PATHS {
            return Err(Error::bad(format!("{place}: at most {MAX_PATHS} paths a request")));
        }
        list.push(JsonPath::read(r)?);
        Ok(())
    })?;
    Ok(list)
}

/// Copies what is selected of a value. `active` has the remaining steps of the paths that lead into it; none is empty.
fn copy(value: &[u8], active: &[&[Step]], include: bool, out: &mut Vec<u8>) {
    match Document::new(value).root() {
        Some(Value::Object(object)) => {
            out.push(b'{');
            for entry in object.entries() {
                let deeper =
                    follow(active, |step| matches!(step, Step::Key(key) if key.encoded() == entry.key));
                if !is_shown(&deeper, include) {
                    continue;
                }
                if out.last() != Some(&b'{') {
                    out.push(b',');
                }
                out.extend_from_slice(entry.key);
                out.push(b':');
                copy_item(entry.value, &deeper, include, out);
            }
            out.push(b'}');
        }
        Some(Value::Array(array)) => {
            let deeper = follow(active, |step| *step == Step::Every);
            out.push(b'[');
            if is_shown(&deeper, include) {
                for (index, element) in array.raw_elements().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    copy_item(element, &deeper, include, out);
                }
            }
            out.push(b']');
        }
        _ => out.extend_from_slice(value),
    }
}

fn copy_item(value: &[u8], deeper: &[&[Step]], include: bool, out: &mut Vec<u8>) {
    if deeper.is_empty() || deeper.iter().any(|rest| rest.is_empty()) {
        out.extend_from_slice(value);
    } else {
        copy(value, deeper, include, out);
    }
}

fn follow<'p>(active: &[&'p [Step]], enters: impl Fn(&Step) -> bool) -> Vec<&'p [Step]> {
    active
        .iter()
        .filter_map(|steps| match steps.split_first() {
            Some((step, rest)) if enters(step) => Some(rest),
            _ => None,
        })
        .collect()
}

/// Whether an item is shown, given the remaining steps of the paths that lead to it.
fn is_shown(deeper: &[&[Step]], include: bool) -> bool {
    if include { !deeper.is_empty() } else { !deeper.iter().any(|rest| rest.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = r#"{"name":"x","country":{"code":"DE","cities":[{"name":"Berlin","pop":3},{"pop":1}]},"tags":["a","b"]}"#;

    fn select(with_payload: &str) -> String {
        let mut reader = Reader::new(with_payload.as_bytes()).unwrap();
        let selector = PayloadSelector::parse(&mut reader).unwrap();
        let mut out = Vec::new();
        selector.select(DOC.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn selectors_show_what_they_name_c6_1() {
        assert_eq!(select("true"), DOC);
        assert_eq!(select("false"), "{}");
        assert_eq!(select("[]"), "{}");
        assert_eq!(select(r#"{"exclude":[]}"#), DOC);
        assert_eq!(select(r#"["name","absent"]"#), r#"{"name":"x"}"#);
        assert_eq!(
            select(r#"{"include":["country.cities[].name"]}"#),
            r#"{"country":{"cities":[{"name":"Berlin"},{}]}}"#
        );
        assert_eq!(
            select(r#"["country.cities"]"#),
            r#"{"country":{"cities":[{"name":"Berlin","pop":3},{"pop":1}]}}"#
        );
        assert_eq!(
            select(r#"{"exclude":["country.cities[].pop","tags"]}"#),
            r#"{"name":"x","country":{"code":"DE","cities":[{"name":"Berlin"},{}]}}"#
        );
    }

    #[test]
    fn arrays_are_entered_by_empty_brackets_alone_c6_1() {
        assert_eq!(select(r#"["country.cities.name"]"#), r#"{"country":{"cities":[]}}"#);
        assert_eq!(select(r#"["country.cities[0].name"]"#), r#"{"country":{"cities":[]}}"#);
        assert_eq!(select(r#"{"exclude":["tags[0]","country.cities.pop"]}"#), DOC);
        assert_eq!(select(r#"["tags[]"]"#), r#"{"tags":["a","b"]}"#);
        assert_eq!(select(r#"{"exclude":["tags[]","country"]}"#), r#"{"name":"x","tags":[]}"#);
    }

    #[test]
    fn malformed_selectors_are_refused_c6_1() {
        for bad in [
            "1",
            "\"a\"",
            "[1]",
            "[\"a.\"]",
            "{}",
            r#"{"include":["a"],"exclude":["b"]}"#,
            r#"{"only":["a"]}"#,
        ] {
            assert!(PayloadSelector::parse(&mut Reader::new(bad.as_bytes()).unwrap()).is_err(), "{bad}");
        }
        let mut reader = Reader::new(br#"{"include":null,"exclude":["a"]}"#).unwrap();
        assert!(PayloadSelector::parse(&mut reader).is_ok());
    }

    #[test]
    fn a_selector_has_no_more_paths_than_a_payload_can_be_asked_for_c6_1() {
        let list = |count: usize| format!("[{}]", vec!["\"a\""; count].join(","));
        let parse = |text: String| PayloadSelector::parse(&mut Reader::new(text.as_bytes()).unwrap());
        assert!(parse(list(1_024)).is_ok());
        for text in [
            list(1_025),
            format!("{{\"include\":{}}}", list(1_025)),
            format!("{{\"exclude\":{}}}", list(1_025)),
        ] {
            let error = parse(text).expect_err("each path is looked for in every point");
            assert!(error.to_string().contains("at most 1024 paths a request"), "{error}");
        }
    }
}
