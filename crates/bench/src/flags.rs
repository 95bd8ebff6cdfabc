//! The arguments of a benchmark on the command line.

use std::error::Error;
use std::str::FromStr;

/// The arguments that have not been read yet.
pub struct Flags(Vec<String>);

impl Flags {
    /// The arguments of this process.
    pub fn of_this_process() -> Flags {
        Flags(std::env::args().skip(1).collect())
    }

    /// The first argument, if it is not a flag; `what` names it in the error otherwise.
    ///
    /// # Errors
    /// When there is none.
    pub fn first(&mut self, what: &str) -> Result<String, Box<dyn Error>> {
        match self.0.first() {
            Some(first) if !first.starts_with("--") => Ok(self.0.remove(0)),
            _ => Err(format!("{what} is needed").into()),
        }
    }

    /// The value of `--name`, if it is given.
    ///
    /// # Errors
    /// When the value is missing or of another type.
    pub fn optional<T: FromStr<Err: Error>>(&mut self, name: &str) -> Result<Option<T>, Box<dyn Error>> {
        let Some(at) = self.place_of(name) else { return Ok(None) };
        let mut pair = self.0.drain(at..self.0.len().min(at + 2)).skip(1);
        let value = pair.next().ok_or_else(|| format!("--{name} needs a value"))?;
        Ok(Some(value.parse().map_err(|error| format!("--{name} {value}: {error}"))?))
    }

    /// The value of `--name`, or the default.
    ///
    /// # Errors
    /// As [`Flags::optional`].
    pub fn value<T: FromStr<Err: Error>>(&mut self, name: &str, default: T) -> Result<T, Box<dyn Error>> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// The comma-separated values of `--name`, or the default.
    ///
    /// # Errors
    /// As [`Flags::optional`].
    pub fn list<T: FromStr<Err: Error + 'static>>(
        &mut self,
        name: &str,
        default: Vec<T>,
    ) -> Result<Vec<T>, Box<dyn Error>> {
        let Some(text) = self.optional::<String>(name)? else { return Ok(default) };
        Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }

    /// Whether `--name`, a flag without a value, is given.
    pub fn is_given(&mut self, name: &str) -> bool {
        self.place_of(name).map(|at| self.0.remove(at)).is_some()
    }

    /// Called after every known argument was read.
    ///
    /// # Errors
    /// When an argument is left over.
    pub fn finish(self) -> Result<(), Box<dyn Error>> {
        match self.0.first() {
            Some(unknown) => Err(format!("unknown argument {unknown}").into()),
            None => Ok(()),
        }
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|argument| argument.strip_prefix("--") == Some(name))
    }
}
