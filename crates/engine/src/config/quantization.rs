//! `quantization_config`: the requested codes, and those with which graphs are built.

use super::{MemoryPlacement, fields};
use crate::error::Error;
use crate::json::{Kind, Reader, write_f64, write_string};

/// A requested quantisation.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantization {
    /// Eight bits a component.
    Scalar {
        /// Share of the values, 0.5 to 1, that the range of the codes covers.
        quantile: Option<f64>,
        /// Keep the codes in memory.
        always_ram: Option<bool>,
        /// Where the codes are kept; overrides `always_ram`.
        memory: Option<MemoryPlacement>,
    },
    /// Product quantisation.
    Product {
        /// `x4` to `x64`.
        compression: &'static str,
        /// Keep the codes in memory.
        always_ram: Option<bool>,
        /// Where the codes are kept; overrides `always_ram`.
        memory: Option<MemoryPlacement>,
    },
    /// One or two bits a component.
    Binary {
        /// Keep the codes in memory.
        always_ram: Option<bool>,
        /// Where the codes are kept; overrides `always_ram`.
        memory: Option<MemoryPlacement>,
        /// `one_bit`, `two_bits` or `one_and_half_bits`.
        encoding: Option<&'static str>,
        /// `default`, `binary`, `scalar4bits` or `scalar8bits`.
        query_encoding: Option<&'static str>,
    },
    /// One to four bits a component, after a rotation.
    Turbo {
        /// `bits1`, `bits1_5`, `bits2` or `bits4`.
        bits: Option<&'static str>,
        /// Keep the codes in memory.
        always_ram: Option<bool>,
        /// Where the codes are kept; overrides `always_ram`.
        memory: Option<MemoryPlacement>,
    },
}

/// A patch of a quantisation.
#[derive(Clone, Debug, PartialEq)]
pub enum QuantizationPatch {
    /// Removes it: `"Disabled"`.
    Disable,
    /// Replaces it.
    Set(Quantization),
}

const COMPRESSIONS: [(&str, &str); 5] =
    [("x4", "x4"), ("x8", "x8"), ("x16", "x16"), ("x32", "x32"), ("x64", "x64")];
const ENCODINGS: [(&str, &str); 3] =
    [("one_bit", "one_bit"), ("two_bits", "two_bits"), ("one_and_half_bits", "one_and_half_bits")];
const QUERY_ENCODINGS: [(&str, &str); 4] = [
    ("default", "default"),
    ("binary", "binary"),
    ("scalar4bits", "scalar4bits"),
    ("scalar8bits", "scalar8bits"),
];
const TURBO_BITS: [(&str, &str); 4] =
    [("bits1", "bits1"), ("bits1_5", "bits1_5"), ("bits2", "bits2"), ("bits4", "bits4")];

impl Quantization {
    /// Reads `{scalar: …}`, `{product: …}`, `{binary: …}` or `{turbo: …}`.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<Quantization, Error> {
        let mut found: [Option<Quantization>; 4] = Default::default();
        reader.object(|r, key| {
            match key {
                "scalar" => found[0] = r.optional(parse_scalar)?,
                "product" => found[1] = r.optional(parse_product)?,
                "binary" => found[2] = r.optional(parse_binary)?,
                "turbo" => found[3] = r.optional(parse_turbo)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let mut asked = found.into_iter().flatten();
        match (asked.next(), asked.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(reader.error("expected exactly one of scalar, product, binary, turbo")),
        }
    }

    /// Whether it requests queries coarser than 8 bits, which codes of every width are compared with.
    pub(super) fn ignores_query_encoding(&self) -> bool {
        matches!(self, Quantization::Binary { query_encoding: Some("binary" | "scalar4bits"), .. })
    }

    /// Appends the quantisation as it was requested.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut object = fields::ObjectWriter::start(out);
        let text = |out: &mut Vec<u8>, value: &str| write_string(out, value);
        match self {
            Quantization::Scalar { quantile, always_ram, memory } => {
                let mut inner = fields::ObjectWriter::start(object.key("scalar"));
                write_string(inner.key("type"), "int8");
                inner.field("quantile", *quantile, write_f64);
                inner.field("always_ram", *always_ram, fields::write_flag);
                inner.field("memory", *memory, |out, memory| memory.write(out));
                inner.end();
            }
            Quantization::Product { compression, always_ram, memory } => {
                let mut inner = fields::ObjectWriter::start(object.key("product"));
                write_string(inner.key("compression"), compression);
                inner.field("always_ram", *always_ram, fields::write_flag);
                inner.field("memory", *memory, |out, memory| memory.write(out));
                inner.end();
            }
            Quantization::Binary { always_ram, memory, encoding, query_encoding } => {
                let mut inner = fields::ObjectWriter::start(object.key("binary"));
                inner.field("always_ram", *always_ram, fields::write_flag);
                inner.field("memory", *memory, |out, memory| memory.write(out));
                inner.field("encoding", *encoding, text);
                inner.field("query_encoding", *query_encoding, text);
                inner.end();
            }
            Quantization::Turbo { bits, always_ram, memory } => {
                let mut inner = fields::ObjectWriter::start(object.key("turbo"));
                inner.field("always_ram", *always_ram, fields::write_flag);
                inner.field("memory", *memory, |out, memory| memory.write(out));
                inner.field("bits", *bits, text);
                inner.end();
            }
        }
        object.end();
    }
}

impl QuantizationPatch {
    /// Reads a quantisation or `"Disabled"`.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<QuantizationPatch, Error> {
        if reader.peek()? == Kind::String {
            return fields::choice(reader, &[("Disabled", ())]).map(|()| QuantizationPatch::Disable);
        }
        Quantization::parse(reader).map(QuantizationPatch::Set)
    }

    /// The quantisation after the patch.
    pub(super) fn result(&self) -> Option<Quantization> {
        match self {
            QuantizationPatch::Disable => None,
            QuantizationPatch::Set(quantization) => Some(quantization.clone()),
        }
    }
}

fn parse_scalar(reader: &mut Reader<'_>) -> Result<Quantization, Error> {
    let (mut kind, mut quantile, mut always_ram, mut memory) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "type" => kind = r.optional(|r| fields::choice(r, &[("int8", ())]))?,
            "quantile" => quantile = fields::fraction(r, 0.5, 1.0)?,
            "always_ram" => always_ram = fields::flag(r)?,
            "memory" => memory = MemoryPlacement::read(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    kind.ok_or_else(|| reader.missing("type"))?;
    Ok(Quantization::Scalar { quantile, always_ram, memory })
}

fn parse_product(reader: &mut Reader<'_>) -> Result<Quantization, Error> {
    let (mut compression, mut always_ram, mut memory) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "compression" => compression = r.optional(|r| fields::choice(r, &COMPRESSIONS))?,
            "always_ram" => always_ram = fields::flag(r)?,
            "memory" => memory = MemoryPlacement::read(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let compression = compression.ok_or_else(|| reader.missing("compression"))?;
    Ok(Quantization::Product { compression, always_ram, memory })
}

fn parse_binary(reader: &mut Reader<'_>) -> Result<Quantization, Error> {
    let (mut always_ram, mut memory, mut encoding, mut query_encoding) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "always_ram" => always_ram = fields::flag(r)?,
            "memory" => memory = MemoryPlacement::read(r)?,
            "encoding" => encoding = r.optional(|r| fields::choice(r, &ENCODINGS))?,
            "query_encoding" => query_encoding = r.optional(|r| fields::choice(r, &QUERY_ENCODINGS))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(Quantization::Binary { always_ram, memory, encoding, query_encoding })
}

fn parse_turbo(reader: &mut Reader<'_>) -> Result<Quantization, Error> {
    let (mut bits, mut always_ram, mut memory) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "bits" => bits = r.optional(|r| fields::choice(r, &TURBO_BITS))?,
            "always_ram" => always_ram = fields::flag(r)?,
            "memory" => memory = MemoryPlacement::read(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(Quantization::Turbo { bits, always_ram, memory })
}
