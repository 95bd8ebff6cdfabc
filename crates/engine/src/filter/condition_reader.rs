//! Reading conditions in objects that may also have fields of another grammar, as in formulas.

use super::Filter;
use super::parse::{Fields, Parser};
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::Limits;

/// Reads the conditions of one request, key by key. The limit on conditions counts all of them together.
pub struct ConditionReader<'l> {
    parser: Parser<'l>,
}

/// A condition, as far as its object has been read.
#[derive(Default)]
pub struct PartialCondition {
    fields: Fields,
    is_given: bool,
}

impl<'l> ConditionReader<'l> {
    /// A reader of no conditions so far.
    pub fn new(limits: &'l Limits) -> ConditionReader<'l> {
        ConditionReader { parser: Parser::new(limits) }
    }

    /// Reads the value of `name` if conditions have such a field. False if not.
    ///
    /// # Errors
    /// `FilterParse`, as those of [`Filter::parse`].
    pub fn field(
        &mut self,
        reader: &mut Reader<'_>,
        name: &str,
        condition: &mut PartialCondition,
    ) -> Result<bool, Error> {
        let is_null = reader.peek()? == Kind::Null;
        reader.in_filter(|r| {
            let is_field = self.parser.field(r, name, &mut condition.fields)?;
            if is_field && !is_null && !condition.is_given {
                condition.is_given = true;
                self.parser.count(r)?;
            }
            Ok(is_field)
        })
    }
}

impl PartialCondition {
    /// Whether a field that is not null has been read.
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The filter of this condition; without fields it matches everything. `reader` is just behind the condition's
    /// object.
    ///
    /// # Errors
    /// `FilterParse` when the fields make no condition.
    pub fn finish(self, reader: &mut Reader<'_>) -> Result<Filter, Error> {
        let condition = reader.in_filter(|r| self.fields.condition(r))?;
        Ok(Filter { must: vec![condition], ..Filter::default() })
    }
}
