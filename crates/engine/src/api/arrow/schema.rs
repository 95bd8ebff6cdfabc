//! The schema of a stream: which columns it has, and by their names and types what each column is for.

use super::super::body::Result;
use super::vectors;
use crate::config::fields::shorten;
use crate::error::Error;
use crate::json::write_key;
use crate::limits::{Limits, MAX_ARROW_FIELDS};
use arrow_ipc::{DateUnit, Endianness, Precision, Schema, TimeUnit, Type};

/// The prefix of the names of columns with named vectors.
const VECTOR_PREFIX: &str = "vector.";
/// The key in the metadata of a vector column whose value names the model of its vectors (C19).
const MODEL_KEY: &str = "model";
/// How many bytes a UUID has.
pub(super) const UUID_BYTES: usize = 16;

/// A column, or a field or item that is nested in one.
pub(super) struct Field {
    pub(super) name: Box<str>,
    /// The name as a key of JSON, colon included.
    pub(super) key: Box<[u8]>,
    pub(super) kind: Kind,
}

/// A type that columns may have.
pub(super) enum Kind {
    Null,
    Bool,
    Int(Int),
    /// Floats of this many bytes: 2, 4 or 8.
    Float(usize),
    Text(TextForm),
    /// Byte strings of this length.
    Bytes(usize),
    /// Whole days since the epoch.
    Days,
    /// Units of time since the epoch; the number is that of units in a second. Dates in milliseconds are
    /// timestamps, too.
    Timestamp(i64),
    /// Lists that all have this length.
    FixedList(usize, Box<Field>),
    /// Lists of any length; true where their offsets have 64 bits, false where these have 32.
    List(bool, Box<Field>),
    Struct(Vec<Field>),
    /// Numbers of texts in the dictionary with this id, the type of these numbers, and the form of the texts.
    Dictionary(i64, Int, TextForm),
}

/// An integer type.
#[derive(Clone, Copy)]
pub(super) struct Int {
    pub(super) bytes: usize,
    pub(super) is_signed: bool,
}

/// How the texts of a column lie in buffers.
#[derive(Clone, Copy)]
pub(super) enum TextForm {
    /// One text after the other (`Utf8`), with offsets of 32 bits.
    Narrow,
    /// One text after the other (`LargeUtf8`), with offsets of 64 bits.
    Wide,
    /// Views (`Utf8View`): short texts are beside their lengths, long ones in several buffers.
    Views,
}

/// What a column is for.
pub(super) enum Role {
    Id,
    IfVersion,
    /// Vectors of the field with this name, and the name of the model that made them where the stream says
    /// it.
    Vector(Box<str>, Option<Box<str>>),
    /// Whole payloads.
    Payload,
    /// The values of one key of the payloads.
    Key,
}

/// The columns of a stream, in their order, and what each is for.
pub(super) struct Table {
    pub(super) columns: Vec<(Field, Role)>,
}

impl Table {
    /// Reads the schema, which is the first message of a stream.
    ///
    /// # Errors
    /// `MissingField` for a column that must be there and is not; `BadRequest` that names a column that
    /// cannot be read.
    pub(super) fn read(schema: Schema<'_>, limits: &Limits) -> Result<Table> {
        if schema.endianness() != Endianness::Little {
            return Err(Error::bad("body: expected little-endian columns"));
        }
        let mut left = MAX_ARROW_FIELDS;
        let mut columns: Vec<(Field, Role)> = Vec::new();
        for sent in schema.fields().into_iter().flatten() {
            let field = Field::read(sent, &mut left, "")?;
            let role = Role::of(&field, sent)?;
            columns.push((field, role));
        }
        check_names(columns.iter().map(|(field, _)| field), "")?;
        let table = Table { columns };
        table.check(limits)?;
        Ok(table)
    }

    fn check(&self, limits: &Limits) -> Result<()> {
        let count = |is: fn(&Role) -> bool| self.columns.iter().filter(|(_, role)| is(role)).count();
        if count(|role| matches!(role, Role::Id)) == 0 {
            return Err(Error::MissingField("id".into()));
        }
        let vectors = count(|role| matches!(role, Role::Vector(..)));
        if vectors == 0 {
            return Err(Error::MissingField("vector".into()));
        }
        if vectors > limits.max_named_vectors.max(1) {
            return Err(Error::bad(format!(
                "vector: at most {} named vectors (max_named_vectors)",
                limits.max_named_vectors
            )));
        }
        let key = self.columns.iter().find(|(_, role)| matches!(role, Role::Key));
        if let Some((field, _)) = key
            && count(|role| matches!(role, Role::Payload)) > 0
        {
            return Err(field.error("a stream with the column payload has no other columns for payloads"));
        }
        Ok(())
    }
}

impl Role {
    fn of(field: &Field, sent: arrow_ipc::Field<'_>) -> Result<Role> {
        let vector = match &*field.name {
            "vector" => Some(""),
            name => name.strip_prefix(VECTOR_PREFIX),
        };
        if let Some(name) = vector {
            if name.is_empty() && field.name.len() == VECTOR_PREFIX.len() {
                return Err(field.error("names no vector"));
            }
            vectors::check_kind(field)?;
            let model =
                sent.custom_metadata().into_iter().flatten().find(|pair| pair.key() == Some(MODEL_KEY));
            return Ok(Role::Vector(name.into(), model.and_then(|pair| pair.value()).map(Box::from)));
        }
        let expected = match (&*field.name, &field.kind) {
            ("id", Kind::Int(_) | Kind::Text(_) | Kind::Dictionary(..) | Kind::Bytes(UUID_BYTES)) => {
                return Ok(Role::Id);
            }
            ("id", _) => "integers, texts or 16 bytes",
            ("if_version", Kind::Int(_) | Kind::Null) => return Ok(Role::IfVersion),
            ("if_version", _) => "integers",
            ("payload", Kind::Text(_) | Kind::Dictionary(..) | Kind::Struct(_) | Kind::Null) => {
                return Ok(Role::Payload);
            }
            ("payload", _) => "texts of JSON, or structs",
            _ if field.has_json() => return Ok(Role::Key),
            _ => "what has a form in JSON, found bytes",
        };
        Err(field.error(&format!("expected {expected}")))
    }
}

impl Field {
    /// Reads a field. `left` is how many more fields the stream may have, `above` the prefix of places in
    /// this field: that of the field around it, or empty.
    fn read(sent: arrow_ipc::Field<'_>, left: &mut usize, above: &str) -> Result<Field> {
        let name = sent.name().unwrap_or_default();
        let place = format!("{above}{}", shorten(name));
        if *left == 0 {
            return Err(Error::bad(format!(
                "{place}: at most {MAX_ARROW_FIELDS} columns and fields of columns"
            )));
        }
        *left -= 1;
        let mut key = Vec::with_capacity(name.len() + 3);
        write_key(&mut key, name);
        let kind = Kind::read(sent, left, &place)?;
        Ok(Field { name: name.into(), key: key.into(), kind })
    }

    /// An error of the column as a whole.
    pub(super) fn error(&self, why: &str) -> Error {
        Error::bad(format!("{}: {why}", shorten(&self.name)))
    }

    /// Whether its values have a form in JSON, as the values of a payload must.
    fn has_json(&self) -> bool {
        match &self.kind {
            Kind::Bytes(_) => false,
            Kind::FixedList(_, item) | Kind::List(_, item) => item.has_json(),
            Kind::Struct(fields) => fields.iter().all(Field::has_json),
            _ => true,
        }
    }
}

impl Kind {
    fn read(sent: arrow_ipc::Field<'_>, left: &mut usize, place: &str) -> Result<Kind> {
        let refused = |why: &str| Error::bad(format!("{place}: {why}"));
        if let Some(dictionary) = sent.dictionary() {
            let int = dictionary.indexType().map_or(Some(Int { bytes: 4, is_signed: true }), Int::read);
            let texts = text_form(sent.type_type());
            let (int, texts) =
                int.zip(texts).ok_or_else(|| refused("a dictionary of other values than texts"))?;
            return Ok(Kind::Dictionary(dictionary.id(), int, texts));
        }
        if let Some(form) = text_form(sent.type_type()) {
            return Ok(Kind::Text(form));
        }
        let scalar = match sent.type_type() {
            Type::Null => Some(Kind::Null),
            Type::Bool => Some(Kind::Bool),
            Type::Int => sent.type_as_int().and_then(Int::read).map(Kind::Int),
            Type::FloatingPoint => sent.type_as_floating_point().and_then(|float| match float.precision() {
                Precision::HALF => Some(Kind::Float(2)),
                Precision::SINGLE => Some(Kind::Float(4)),
                Precision::DOUBLE => Some(Kind::Float(8)),
                _ => None,
            }),
            Type::FixedSizeBinary => {
                sent.type_as_fixed_size_binary().and_then(|bytes| size(bytes.byteWidth())).map(Kind::Bytes)
            }
            Type::Date => sent.type_as_date().and_then(|date| match date.unit() {
                DateUnit::DAY => Some(Kind::Days),
                DateUnit::MILLISECOND => Some(Kind::Timestamp(1_000)),
                _ => None,
            }),
            Type::Timestamp => sent.type_as_timestamp().and_then(|time| match time.unit() {
                TimeUnit::SECOND => Some(Kind::Timestamp(1)),
                TimeUnit::MILLISECOND => Some(Kind::Timestamp(1_000)),
                TimeUnit::MICROSECOND => Some(Kind::Timestamp(1_000_000)),
                TimeUnit::NANOSECOND => Some(Kind::Timestamp(1_000_000_000)),
                _ => None,
            }),
            _ => return Kind::read_nested(sent, left, place),
        };
        scalar.ok_or_else(|| refused("malformed type"))
    }

    fn read_nested(sent: arrow_ipc::Field<'_>, left: &mut usize, place: &str) -> Result<Kind> {
        let refused = |why: &str| Error::bad(format!("{place}: {why}"));
        let length = match sent.type_type() {
            Type::Struct_ => {
                let mut fields = Vec::new();
                let above = format!("{place}.");
                for child in sent.children().into_iter().flatten() {
                    fields.push(Field::read(child, left, &above)?);
                }
                check_names(fields.iter(), &above)?;
                return Ok(Kind::Struct(fields));
            }
            Type::List | Type::LargeList => None,
            Type::FixedSizeList => {
                let length = sent.type_as_fixed_size_list().and_then(|list| size(list.listSize()));
                Some(length.ok_or_else(|| refused("malformed type"))?)
            }
            other => {
                let name = other.variant_name().unwrap_or("unknown");
                return Err(refused(&format!("columns of the type {name} cannot be read")));
            }
        };
        let mut items = sent.children().into_iter().flatten();
        let (Some(item), None) = (items.next(), items.next()) else {
            return Err(refused("malformed type"));
        };
        let item = Box::new(Field::read(item, left, &format!("{place}[]."))?);
        Ok(match length {
            Some(length) => Kind::FixedList(length, item),
            None => Kind::List(sent.type_type() == Type::LargeList, item),
        })
    }
}

impl Int {
    fn read(int: arrow_ipc::Int<'_>) -> Option<Int> {
        let bytes = match int.bitWidth() {
            8 => 1,
            16 => 2,
            32 => 4,
            64 => 8,
            _ => return None,
        };
        Some(Int { bytes, is_signed: int.is_signed() })
    }
}

fn text_form(kind: Type) -> Option<TextForm> {
    match kind {
        Type::Utf8 => Some(TextForm::Narrow),
        Type::LargeUtf8 => Some(TextForm::Wide),
        Type::Utf8View => Some(TextForm::Views),
        _ => None,
    }
}

fn size(declared: i32) -> Option<usize> {
    usize::try_from(declared).ok()
}

/// Refuses a name that comes twice.
fn check_names<'f>(fields: impl Iterator<Item = &'f Field>, above: &str) -> Result<()> {
    let mut names: Vec<&str> = fields.map(|field| &*field.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::bad(format!("{above}{}: a name that comes twice", shorten(pair[0])))),
        None => Ok(()),
    }
}
