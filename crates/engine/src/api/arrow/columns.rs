//! The columns of one record batch: views of its bytes, each checked to have the rows that it announces.
//!
//! Nothing is copied, and no allocation has a size that a message announces: a column takes the same memory
//! however many rows it says that it has. Values that refer to others (offsets, numbers in dictionaries) are
//! checked when they are read.

use super::super::body::Result;
use super::lists::{Lists, Offsets};
use super::schema::{Field, Int, Kind, Table, TextForm};
use super::texts::{Texts, VIEW_BYTES};
use crate::error::Error;
use arrow_ipc::RecordBatch;
use std::collections::HashMap;
use std::ops::Range;

const TOO_SHORT: &str = "fewer bytes than its rows take";

/// A value that was read, or a sentence that says why it cannot be read.
pub(super) type Checked<T> = std::result::Result<T, &'static str>;

/// A column of a batch, or a column that is nested in one.
pub(super) struct Column<'a> {
    pub(super) len: usize,
    /// The validity bitmap: a bit for each row, 0 where the row is null. `None` where no row is null.
    valid: Option<&'a [u8]>,
    pub(super) values: Values<'a>,
}

/// The values of a column.
pub(super) enum Values<'a> {
    Null,
    /// A bitmap with a bit for each value.
    Bool(&'a [u8]),
    Int(Ints<'a>),
    /// The bytes of all numbers, and how many bytes a number has.
    Float(&'a [u8], usize),
    Text(Texts<'a>),
    Bytes(&'a [u8]),
    Days(Ints<'a>),
    /// Units of time since the epoch, and how many units are in a second.
    Timestamp(Ints<'a>, i64),
    List(Lists<'a>, Box<Column<'a>>),
    Struct(Vec<(&'a Field, Column<'a>)>),
    /// The numbers of texts, and their dictionary; `None` where none was sent, as for a column of nulls.
    Dictionary(Ints<'a>, Option<&'a Dictionary<'a>>),
}

/// Integers of one width.
#[derive(Clone, Copy)]
pub(super) struct Ints<'a> {
    bytes: &'a [u8],
    int: Int,
}

/// The texts of a dictionary, in the parts in which they were sent.
#[derive(Default)]
pub(super) struct Dictionary<'a> {
    /// Each part with the number of the first text behind the part.
    parts: Vec<(Column<'a>, usize)>,
}

/// The dictionaries of a stream, by id.
pub(super) type Dictionaries<'a> = HashMap<i64, Dictionary<'a>>;

impl<'a> Column<'a> {
    /// The text of a row; `None` where the row is null, and where the column has no texts.
    pub(super) fn text(&self, row: usize) -> Checked<Option<&'a str>> {
        match &self.values {
            _ if self.is_null(row) => Ok(None),
            Values::Text(texts) => texts.get(row).map(Some),
            Values::Dictionary(numbers, Some(texts)) => texts.get(numbers.get(row)),
            Values::Dictionary(_, None) => Err("a dictionary that was not sent"),
            _ => Ok(None),
        }
    }

    /// Whether the row has no value.
    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.values, Values::Null) || self.valid.is_some_and(|bits| !bit(bits, row))
    }

    /// The first row of a range that has no value.
    pub(super) fn first_null(&self, mut rows: Range<usize>) -> Option<usize> {
        let may_have = self.valid.is_some() || matches!(self.values, Values::Null);
        if may_have { rows.find(|row| self.is_null(*row)) } else { None }
    }
}

/// The bit of a bitmap at a position.
pub(super) fn bit(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

impl<'a> Ints<'a> {
    /// The integer of a row.
    pub(super) fn get(self, row: usize) -> i128 {
        let Int { bytes, is_signed } = self.int;
        let mut wide = [0; 8];
        wide[..bytes].copy_from_slice(&self.bytes[row * bytes..(row + 1) * bytes]);
        let value = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes as u32;
        if is_signed { i128::from((value << unused) as i64 >> unused) } else { i128::from(value) }
    }

    /// The bytes of all values where these are unsigned integers of 8 bits, else `None`.
    pub(super) fn as_bytes(self) -> Option<&'a [u8]> {
        matches!(self.int, Int { bytes: 1, is_signed: false }).then_some(self.bytes)
    }
}

impl<'a> Dictionary<'a> {
    /// Adds texts behind the texts that the dictionary has.
    fn push(&mut self, texts: Column<'a>) {
        let before = self.parts.last().map_or(0, |(_, end)| *end);
        let end = before.saturating_add(texts.len);
        self.parts.push((texts, end));
    }

    /// The text that has a number; `None` where that text is null.
    pub(super) fn get(&self, number: i128) -> Checked<Option<&'a str>> {
        let number = usize::try_from(number).map_err(|_| "a number that is not in its dictionary")?;
        let part = self.parts.partition_point(|(_, end)| *end <= number);
        let (texts, end) = self.parts.get(part).ok_or("a number that is not in its dictionary")?;
        let row = number - (end - texts.len);
        texts.text(row)
    }
}

/// Reads the columns of a batch: the metadata says where their buffers are in `body`.
struct BatchReader<'a, 'm> {
    body: &'a [u8],
    /// How many rows and nulls each column has, nested columns included.
    nodes: &'m mut dyn Iterator<Item = (i64, i64)>,
    /// The place and the length of each buffer, in bytes of the body.
    buffers: &'m mut dyn Iterator<Item = (i64, i64)>,
    /// How many buffers the texts of each column of views have.
    counts: &'m mut dyn Iterator<Item = i64>,
    /// The dictionaries that columns refer to; `None` while a dictionary itself is read.
    dictionaries: Option<&'a Dictionaries<'a>>,
}

impl<'a> BatchReader<'a, '_> {
    fn column(&mut self, kind: &'a Kind) -> Checked<Column<'a>> {
        let (len, has_nulls) = self.node()?;
        // A column of the type null is the only one without a validity bitmap.
        let valid = if matches!(kind, Kind::Null) { None } else { self.validity(len, has_nulls)? };
        let values = match kind {
            Kind::Null => Values::Null,
            Kind::Bool => Values::Bool(self.bits(len)?),
            Kind::Int(int) => Values::Int(self.ints(len, *int)?),
            Kind::Float(width) => Values::Float(self.fixed(len, *width)?, *width),
            Kind::Bytes(width) => Values::Bytes(self.fixed(len, *width)?),
            Kind::Days => Values::Days(self.ints(len, Int { bytes: 4, is_signed: true })?),
            Kind::Timestamp(units) => {
                Values::Timestamp(self.ints(len, Int { bytes: 8, is_signed: true })?, *units)
            }
            Kind::FixedList(length, item) => {
                let items = self.column(&item.kind)?;
                let needed = len.checked_mul(*length);
                if needed.is_none_or(|needed| items.len < needed) {
                    return Err("lists with fewer items than their lengths say");
                }
                Values::List(Lists::Fixed(*length), Box::new(items))
            }
            Kind::List(is_wide, item) => {
                let offsets = self.offsets(len, *is_wide)?;
                Values::List(Lists::Offsets(offsets), Box::new(self.column(&item.kind)?))
            }
            Kind::Struct(fields) => Values::Struct(self.fields(len, fields)?),
            Kind::Dictionary(id, int, _) => {
                let numbers = self.ints(len, *int)?;
                Values::Dictionary(numbers, self.dictionaries.and_then(|all| all.get(id)))
            }
            Kind::Text(form) => Values::Text(self.texts(len, *form)?),
        };
        Ok(Column { len, valid, values })
    }

    /// The only column of a dictionary batch.
    fn dictionary(&mut self, form: TextForm) -> Checked<Column<'a>> {
        let (len, has_nulls) = self.node()?;
        let valid = self.validity(len, has_nulls)?;
        Ok(Column { len, valid, values: Values::Text(self.texts(len, form)?) })
    }

    fn fields(&mut self, len: usize, fields: &'a [Field]) -> Checked<Vec<(&'a Field, Column<'a>)>> {
        let mut read = Vec::with_capacity(fields.len());
        for field in fields {
            let column = self.column(&field.kind)?;
            if column.len < len {
                return Err("a field of a struct with fewer values than there are structs");
            }
            read.push((field, column));
        }
        Ok(read)
    }

    fn texts(&mut self, len: usize, form: TextForm) -> Checked<Texts<'a>> {
        if !matches!(form, TextForm::Views) {
            let offsets = self.offsets(len, matches!(form, TextForm::Wide))?;
            return Ok(Texts::Joined(offsets, self.buffer()?));
        }
        let views = self.fixed(len, VIEW_BYTES)?;
        let count = self.counts.next().ok_or("a column of views without its number of buffers")?;
        let mut buffers = Vec::new();
        for _ in 0..count {
            buffers.push(self.buffer()?);
        }
        Ok(Texts::Views(views, buffers))
    }

    /// How many rows the next column has, and whether some are null.
    fn node(&mut self) -> Checked<(usize, bool)> {
        let (len, nulls) = self.nodes.next().ok_or("a batch with fewer columns than the schema has")?;
        let len = usize::try_from(len).map_err(|_| "less than no rows")?;
        Ok((len, nulls > 0))
    }

    /// The bytes of the next buffer.
    fn buffer(&mut self) -> Checked<&'a [u8]> {
        let (place, length) =
            self.buffers.next().ok_or("a batch with fewer buffers than its columns have")?;
        let range = usize::try_from(place).ok().zip(usize::try_from(length).ok());
        let bytes = range.and_then(|(place, length)| self.body.get(place..place.checked_add(length)?));
        bytes.ok_or("a buffer that is not in its message")
    }

    fn validity(&mut self, len: usize, has_nulls: bool) -> Checked<Option<&'a [u8]>> {
        if has_nulls {
            return self.bits(len).map(Some);
        }
        self.buffer()?;
        Ok(None)
    }

    fn bits(&mut self, len: usize) -> Checked<&'a [u8]> {
        let bytes = self.buffer()?;
        if bytes.len() < len.div_ceil(8) { Err(TOO_SHORT) } else { Ok(bytes) }
    }

    /// The bytes of the values of a column, each `width` bytes long.
    fn fixed(&mut self, len: usize, width: usize) -> Checked<&'a [u8]> {
        let bytes = self.buffer()?;
        len.checked_mul(width).and_then(|needed| bytes.get(..needed)).ok_or(TOO_SHORT)
    }

    fn ints(&mut self, len: usize, int: Int) -> Checked<Ints<'a>> {
        Ok(Ints { bytes: self.fixed(len, int.bytes)?, int })
    }

    /// The offsets of `len` lists or texts: `len + 1` offsets, and none where `len` is 0.
    fn offsets(&mut self, len: usize, is_wide: bool) -> Checked<Offsets<'a>> {
        let count = if len == 0 { 0 } else { len.checked_add(1).ok_or(TOO_SHORT)? };
        Ok(Offsets::new(self.fixed(count, if is_wide { 8 } else { 4 })?, is_wide))
    }
}

/// Lets `read` read the columns of a batch.
///
/// # Errors
/// `BadRequest` for a compressed batch; what `read` returns.
fn with_reader<'a, T>(
    batch: RecordBatch<'_>,
    body: &'a [u8],
    dictionaries: Option<&'a Dictionaries<'a>>,
    read: impl FnOnce(&mut BatchReader<'a, '_>) -> Result<T>,
) -> Result<T> {
    if batch.compression().is_some() {
        return Err(Error::bad(
            "body: a compressed batch cannot be read: write it without compression, and compress the body \
             (Content-Encoding: gzip) where that helps",
        ));
    }
    let nodes = batch.nodes().into_iter().flatten();
    let buffers = batch.buffers().into_iter().flatten();
    read(&mut BatchReader {
        body,
        nodes: &mut nodes.map(|node| (node.length(), node.null_count())),
        buffers: &mut buffers.map(|buffer| (buffer.offset(), buffer.length())),
        counts: &mut batch.variadicBufferCounts().into_iter().flatten(),
        dictionaries,
    })
}

/// The columns of a record batch, each as long as the batch, and how many rows the batch has.
///
/// # Errors
/// `BadRequest` that names the column, where the batch does not have what the schema says.
pub(super) fn read_batch<'a>(
    batch: RecordBatch<'_>,
    body: &'a [u8],
    table: &'a Table,
    dictionaries: &'a Dictionaries<'a>,
) -> Result<(Vec<Column<'a>>, usize)> {
    let rows =
        usize::try_from(batch.length()).map_err(|_| Error::bad("body: a batch of less than no rows"))?;
    let columns = with_reader(batch, body, Some(dictionaries), |reader| {
        let mut columns = Vec::with_capacity(table.columns.len());
        for (field, _) in &table.columns {
            let column = reader.column(&field.kind).map_err(|why| field.error(why))?;
            if column.len != rows {
                return Err(field.error(&format!("{} rows in a batch of {rows}", column.len)));
            }
            columns.push(column);
        }
        Ok(columns)
    })?;
    Ok((columns, rows))
}

/// Adds the texts of a dictionary batch to the dictionaries. A dictionary that no column names is passed
/// over.
///
/// # Errors
/// `BadRequest` that names the column of the dictionary.
pub(super) fn read_dictionary<'a>(
    sent: arrow_ipc::DictionaryBatch<'_>,
    body: &'a [u8],
    table: &Table,
    dictionaries: &mut Dictionaries<'a>,
) -> Result<()> {
    let named =
        table.columns.iter().find_map(|(field, _)| Some((field, dictionary_of(&field.kind, sent.id())?)));
    let Some((field, form)) = named else { return Ok(()) };
    let batch = sent.data().ok_or_else(|| field.error("a dictionary without values"))?;
    let texts =
        with_reader(batch, body, None, |reader| reader.dictionary(form).map_err(|why| field.error(why)))?;
    let known = dictionaries.entry(sent.id()).or_default();
    if !sent.isDelta() {
        known.parts.clear();
    }
    known.push(texts);
    Ok(())
}

/// The form of the texts of the dictionary with this id, if a column of this type uses it.
fn dictionary_of(kind: &Kind, id: i64) -> Option<TextForm> {
    match kind {
        Kind::Dictionary(own, _, form) if *own == id => Some(*form),
        Kind::FixedList(_, item) | Kind::List(_, item) => dictionary_of(&item.kind, id),
        Kind::Struct(fields) => fields.iter().find_map(|field| dictionary_of(&field.kind, id)),
        _ => None,
    }
}
