//! The definition of a field index (C5.12).

use crate::error::Error;
use crate::json::{self, Kind, Reader};
use crate::payload::text::TextOptions;
use std::sync::Arc;

/// Type of the values that a field index covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Strings.
    Keyword,
    /// Whole numbers of 64 bits.
    Integer,
    /// Numbers of either form.
    Float,
    /// Booleans.
    Bool,
    /// Strings that are date-times.
    Datetime,
    /// Strings that are UUIDs.
    Uuid,
    /// The words of strings.
    Text,
    /// Objects that are places on the globe.
    Geo,
}

impl FieldKind {
    /// All kinds, the more usual first.
    pub const ALL: [FieldKind; 8] = [
        FieldKind::Keyword,
        FieldKind::Integer,
        FieldKind::Float,
        FieldKind::Bool,
        FieldKind::Datetime,
        FieldKind::Uuid,
        FieldKind::Text,
        FieldKind::Geo,
    ];

    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            FieldKind::Keyword => "keyword",
            FieldKind::Integer => "integer",
            FieldKind::Float => "float",
            FieldKind::Bool => "bool",
            FieldKind::Datetime => "datetime",
            FieldKind::Uuid => "uuid",
            FieldKind::Text => "text",
            FieldKind::Geo => "geo",
        }
    }

    /// Names of the options that the type takes. A text index also takes those of [`TextOptions`].
    fn options(self) -> &'static [&'static str] {
        match self {
            FieldKind::Keyword => &["is_tenant", "prefix", "on_disk", "enable_hnsw"],
            FieldKind::Integer => &["lookup", "range", "is_principal", "on_disk", "enable_hnsw"],
            FieldKind::Float | FieldKind::Datetime => &["is_principal", "on_disk", "enable_hnsw"],
            FieldKind::Bool | FieldKind::Text | FieldKind::Geo => &["on_disk", "enable_hnsw"],
            FieldKind::Uuid => &["is_tenant", "on_disk", "enable_hnsw"],
        }
    }
}

/// Where an index may be asked to be held; it is in memory whatever was asked for.
const MEMORY: [&str; 3] = ["cold", "cached", "pinned"];

/// Every option with its default.
const OPTIONS: [(&str, bool); 7] = [
    ("is_tenant", false),
    ("is_principal", false),
    ("lookup", true),
    ("range", true),
    ("prefix", false),
    ("on_disk", false),
    ("enable_hnsw", true),
];

/// Definition of a field index: its type and options.
///
/// Two definitions are equal when they mean the same, whether an option is spelled out or left to its default.
/// The options are kept and answered. Those of a text index decide how texts are cut into words; no other changes an
/// answer or what an index can serve.
#[derive(Clone, Debug)]
pub struct FieldSchema {
    kind: FieldKind,
    /// Whether it was given as an object.
    is_object: bool,
    /// The options given, by position in [`OPTIONS`].
    options: [Option<bool>; OPTIONS.len()],
    /// `memory`, where it was given: one of [`MEMORY`].
    memory: Option<&'static str>,
    /// The options of a text index; all absent for any other kind.
    text: Arc<TextOptions>,
}

impl PartialEq for FieldSchema {
    fn eq(&self, other: &FieldSchema) -> bool {
        self.kind == other.kind
            && self.effective() == other.effective()
            && self.memory == other.memory
            && self.text == other.text
    }
}

impl FieldSchema {
    /// The definition that a bare type name gives.
    pub fn new(kind: FieldKind) -> FieldSchema {
        FieldSchema {
            kind,
            is_object: false,
            options: [None; OPTIONS.len()],
            memory: None,
            text: Arc::default(),
        }
    }

    /// Type of the values that the index covers; its name is the `data_type` of answers.
    pub fn kind(&self) -> FieldKind {
        self.kind
    }

    /// How a text index cuts texts into words.
    pub fn text(&self) -> &TextOptions {
        &self.text
    }

    /// Reads a `field_schema`: a type's name, or an object with `type` and options. Also reads what
    /// [`FieldSchema::write_json`] writes.
    ///
    /// # Errors
    /// `BadRequest` that names the place; `MissingField` for an object without a type.
    pub fn parse(reader: &mut Reader<'_>) -> Result<FieldSchema, Error> {
        match reader.peek()? {
            Kind::String => {
                let name = reader.string()?;
                parse_kind(reader, &name).map(FieldSchema::new)
            }
            Kind::Object => FieldSchema::parse_object(reader),
            _ => Err(reader.error("expected the name of a type or an object with type")),
        }
    }

    fn parse_object(reader: &mut Reader<'_>) -> Result<FieldSchema, Error> {
        let mut name = None;
        let mut options = [None; OPTIONS.len()];
        let mut memory = None;
        let mut text = TextOptions::default();
        // Which options are known depends on the type, which may come last.
        let mut first_unknown = None;
        reader.object(|r, key| {
            if key == "type" {
                name = r.optional(|r| r.string().map(String::from))?;
            } else if let Some(at) = OPTIONS.iter().position(|(option, _)| *option == key) {
                options[at] = r.optional(Reader::bool)?;
            } else if key == "memory" {
                memory = r.optional(read_memory)?;
            } else if TextOptions::NAMES.contains(&key) {
                text.read(r, key)?;
            } else if r.peek()? == Kind::Null {
                r.skip()?;
            } else {
                first_unknown.get_or_insert(r.error("unknown field"));
                r.skip()?;
            }
            Ok(())
        })?;
        let Some(name) = name else { return Err(reader.missing("type")) };
        let kind = parse_kind(reader, &name)?;
        if let Some(error) = first_unknown {
            return Err(error);
        }
        let given = OPTIONS.iter().zip(options).filter(|(_, value)| value.is_some());
        let foreign = given.map(|((option, _), _)| *option).find(|option| !kind.options().contains(option));
        let foreign = foreign.or(text.given().filter(|_| kind != FieldKind::Text));
        if let Some(option) = foreign {
            return Err(reader.error(format!("{option} is no option of a {} index", kind.name())));
        }
        text.check(reader)?;
        let schema = FieldSchema { kind, is_object: true, options, memory, text: Arc::new(text) };
        if kind == FieldKind::Integer && !schema.option("lookup") && !schema.option("range") {
            return Err(reader.error("the 'lookup' and 'range' capabilities can't be both disabled"));
        }
        Ok(schema)
    }

    /// Appends `params` as an answer shows them (C4.2): null for a bare name, else an object.
    pub fn write_params(&self, out: &mut Vec<u8>) {
        if self.is_object { self.write_object(out) } else { out.extend_from_slice(b"null") }
    }

    /// Appends the definition as [`FieldSchema::parse`] reads it.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        if self.is_object { self.write_object(out) } else { json::write_string(out, self.kind.name()) }
    }

    fn write_object(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        json::write_key(out, "type");
        json::write_string(out, self.kind.name());
        self.text.write_fields(out);
        for ((option, _), value) in OPTIONS.iter().zip(self.options) {
            if let Some(value) = value {
                out.push(b',');
                json::write_key(out, option);
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
        }
        if let Some(memory) = self.memory {
            out.push(b',');
            json::write_key(out, "memory");
            json::write_string(out, memory);
        }
        out.push(b'}');
    }

    fn option(&self, name: &str) -> bool {
        OPTIONS.iter().zip(self.effective()).any(|((option, _), value)| *option == name && value)
    }

    fn effective(&self) -> [bool; OPTIONS.len()] {
        std::array::from_fn(|at| self.options[at].unwrap_or(OPTIONS[at].1))
    }
}

fn read_memory(reader: &mut Reader<'_>) -> Result<&'static str, Error> {
    let name = reader.string()?;
    let known = MEMORY.iter().find(|known| **known == name);
    known.copied().ok_or_else(|| reader.error(format!("expected one of {}", MEMORY.join(", "))))
}

fn parse_kind(reader: &Reader<'_>, name: &str) -> Result<FieldKind, Error> {
    FieldKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        reader.error("expected one of keyword, integer, float, bool, geo, datetime, text, uuid as the type")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<FieldSchema, Error> {
        let mut reader = Reader::new(body.as_bytes())?;
        let mut schema = None;
        reader.object(|r, _| {
            schema = Some(FieldSchema::parse(r)?);
            Ok(())
        })?;
        Ok(schema.unwrap())
    }

    fn schema(text: &str) -> Result<FieldSchema, Error> {
        parse(&format!(r#"{{"field_schema":{text}}}"#))
    }

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn definitions_round_trip_and_are_answered_as_given_c4_2() {
        for (text, params) in [
            ("\"keyword\"", "null"),
            (r#"{"type":"keyword"}"#, r#"{"type":"keyword"}"#),
            (
                r#"{"type":"keyword","is_tenant":true,"on_disk":false}"#,
                r#"{"type":"keyword","is_tenant":true,"on_disk":false}"#,
            ),
            (r#"{"type":"keyword","prefix":true}"#, r#"{"type":"keyword","prefix":true}"#),
            (
                r#"{"type":"integer","is_principal":true,"lookup":true,"range":false}"#,
                r#"{"type":"integer","is_principal":true,"lookup":true,"range":false}"#,
            ),
            (r#"{"type":"uuid","enable_hnsw":true}"#, r#"{"type":"uuid","enable_hnsw":true}"#),
            ("\"float\"", "null"),
            ("\"bool\"", "null"),
            ("\"datetime\"", "null"),
            ("\"geo\"", "null"),
            (r#"{"type":"geo","on_disk":true}"#, r#"{"type":"geo","on_disk":true}"#),
        ] {
            let schema = schema(text).unwrap();
            assert_eq!(written(|out| schema.write_params(out)), params);
            let stored = written(|out| schema.write_json(out));
            let again = FieldSchema::parse(&mut Reader::new(stored.as_bytes()).unwrap()).unwrap();
            assert_eq!(again, schema);
            assert_eq!(written(|out| again.write_params(out)), params);
        }
    }

    #[test]
    fn the_same_definition_is_the_same_however_it_is_spelled_c5_12() {
        assert_eq!(
            schema("\"integer\"").unwrap(),
            schema(r#"{"lookup":true,"type":"integer","range":null}"#).unwrap()
        );
        assert_ne!(schema("\"integer\"").unwrap(), schema(r#"{"type":"integer","lookup":false}"#).unwrap());
        assert_ne!(schema("\"integer\"").unwrap(), schema("\"float\"").unwrap());
    }

    #[test]
    fn text_definitions_are_answered_as_given_with_languages_by_name_c5_12() {
        for (text, params) in [
            ("\"text\"", "null"),
            (r#"{"type":"text"}"#, r#"{"type":"text"}"#),
            (
                r#"{"type":"text","tokenizer":"prefix","min_token_len":2,"max_token_len":15,"lowercase":true,"on_disk":true}"#,
                r#"{"type":"text","tokenizer":"prefix","min_token_len":2,"max_token_len":15,"lowercase":true,"on_disk":true}"#,
            ),
            (
                r#"{"stemmer":{"language":"de","type":"snowball"},"phrase_matching":true,"ascii_folding":false,"stopwords":"en","type":"text"}"#,
                r#"{"type":"text","ascii_folding":false,"phrase_matching":true,"stopwords":"english","stemmer":{"type":"snowball","language":"german"}}"#,
            ),
            (
                r#"{"type":"text","stopwords":{"languages":["hi-en","slovene"],"custom":["a\"b"]},"tokenizer":null}"#,
                r#"{"type":"text","stopwords":{"languages":["hinglish","slovene"],"custom":["a\"b"]}}"#,
            ),
        ] {
            let schema = schema(text).unwrap();
            assert_eq!(written(|out| schema.write_params(out)), params);
            let stored = written(|out| schema.write_json(out));
            let again = FieldSchema::parse(&mut Reader::new(stored.as_bytes()).unwrap()).unwrap();
            assert_eq!(again, schema);
        }
        let same = |a: &str, b: &str| schema(a).unwrap() == schema(b).unwrap();
        assert!(same(
            "\"text\"",
            r#"{"type":"text","tokenizer":"word","lowercase":true,"phrase_matching":false}"#
        ));
        assert!(same(
            r#"{"type":"text","stopwords":"en"}"#,
            r#"{"type":"text","stopwords":{"languages":["english"]}}"#
        ));
        assert!(!same("\"text\"", r#"{"type":"text","phrase_matching":true}"#));
        assert!(!same("\"text\"", r#"{"type":"text","stopwords":{"custom":["a"]}}"#));
        assert!(!same("\"text\"", r#"{"type":"text","min_token_len":2}"#));
    }

    #[test]
    fn bad_text_definitions_name_the_place_c5_12() {
        for (options, expected) in [
            (
                r#""tokenizer":"words""#,
                "field_schema.tokenizer: expected one of word, whitespace, prefix, multilingual",
            ),
            (r#""max_token_len":0"#, "field_schema.max_token_len: value 0 invalid, must be 1 or larger"),
            (
                r#""min_token_len":5,"max_token_len":4"#,
                "field_schema: min_token_len 5 is larger than max_token_len 4",
            ),
            (
                r#""stopwords":"klingon""#,
                "field_schema.stopwords: expected a language with stop words: one of arabic",
            ),
            (
                r#""stopwords":{"languages":["tamil"]}"#,
                "field_schema.stopwords.languages[0]: expected a language",
            ),
            (r#""stopwords":{"words":[]}"#, "field_schema.stopwords.words: unknown field"),
            (r#""stemmer":{"type":"snowball"}"#, "field_schema.stemmer.language"),
            (
                r#""stemmer":{"type":"porter","language":"en"}"#,
                "field_schema.stemmer.type: expected snowball",
            ),
            (
                r#""stemmer":{"type":"snowball","language":"zh"}"#,
                "field_schema.stemmer.language: expected a language with a stemmer",
            ),
            (r#""is_tenant":true"#, "field_schema: is_tenant is no option of a text index"),
        ] {
            let error = schema(&format!(r#"{{"type":"text",{options}}}"#)).unwrap_err();
            let (Error::BadRequest(message) | Error::MissingField(message)) = error else {
                panic!("{error:?}")
            };
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn bad_definitions_name_the_place_c5_12() {
        let message = |text: &str| match schema(text).unwrap_err() {
            Error::BadRequest(message) | Error::MissingField(message) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            message(r#"{"type":"geo","is_tenant":true}"#),
            "field_schema: is_tenant is no option of a geo index"
        );
        assert_eq!(
            message(r#"{"tokenizer":"word","type":"keyword"}"#),
            "field_schema: tokenizer is no option of a keyword index"
        );
        assert_eq!(
            message(r#"{"type":"integer","lookup":false,"range":false}"#),
            "field_schema: the 'lookup' and 'range' capabilities can't be both disabled"
        );
        assert_eq!(message(r#"{"type":"bool","x":1}"#), "field_schema.x: unknown field");
        assert_eq!(
            message(r#"{"type":"bool","lookup":true}"#),
            "field_schema: lookup is no option of a bool index"
        );
        assert_eq!(message(r#"{"is_tenant":true}"#), "field_schema.type");
        assert!(message("\"words\"").starts_with("field_schema: expected one of keyword"));
        assert!(message("7").starts_with("field_schema: expected the name of a type"));
        assert!(schema(r#"{"type":"bool","memory":null}"#).is_ok());
    }
}
