//! `wal_config`: the log of a collection's changes.

use super::fields;
use crate::error::Error;
use crate::json::{Reader, write_string, write_u64};
use crate::wal::Durability;

const DURABILITIES: [(&str, Durability); 3] =
    [("always", Durability::Always), ("interval", Durability::Interval), ("os", Durability::Os)];

/// The log settings of a collection, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct WalConfig {
    /// MiB of a log segment. Stored and answered, without effect: the server has one log.
    pub wal_capacity_mb: u64,
    /// Segments created in advance. Stored and answered, without effect.
    pub wal_segments_ahead: u64,
    /// Closed segments to keep. Stored and answered, without effect.
    pub wal_retain_closed: Option<u64>,
    /// When a change counts as durable.
    pub durability: Durability,
}

impl Default for WalConfig {
    fn default() -> Self {
        WalConfig {
            wal_capacity_mb: 32,
            wal_segments_ahead: 0,
            wal_retain_closed: None,
            durability: Durability::Always,
        }
    }
}

impl WalConfig {
    /// These settings, overridden by those of a request.
    pub fn with(&self, diff: &WalDiff) -> WalConfig {
        WalConfig {
            wal_capacity_mb: diff.wal_capacity_mb.unwrap_or(self.wal_capacity_mb),
            wal_segments_ahead: diff.wal_segments_ahead.unwrap_or(self.wal_segments_ahead),
            wal_retain_closed: diff.wal_retain_closed.or(self.wal_retain_closed),
            durability: diff.durability.unwrap_or(self.durability),
        }
    }

    fn durability_name(&self) -> &'static str {
        match self.durability {
            Durability::Always => "always",
            Durability::Interval => "interval",
            Durability::Os => "os",
        }
    }

    /// Names of the settings without effect that differ from the default.
    pub(super) fn changed_without_effect(&self) -> Vec<&'static str> {
        let plain = WalConfig::default();
        [
            ("wal_capacity_mb", self.wal_capacity_mb != plain.wal_capacity_mb),
            ("wal_segments_ahead", self.wal_segments_ahead != plain.wal_segments_ahead),
            ("wal_retain_closed", self.wal_retain_closed.is_some_and(|kept| kept != 1)),
        ]
        .into_iter()
        .filter_map(|(name, changed)| changed.then_some(name))
        .collect()
    }

    /// Appends the settings as a JSON object.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut object = fields::ObjectWriter::start(out);
        write_u64(object.key("wal_capacity_mb"), self.wal_capacity_mb);
        write_u64(object.key("wal_segments_ahead"), self.wal_segments_ahead);
        object.field("wal_retain_closed", self.wal_retain_closed, write_u64);
        write_string(object.key("durability"), self.durability_name());
        object.end();
    }
}

/// The settings of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WalDiff {
    wal_capacity_mb: Option<u64>,
    wal_segments_ahead: Option<u64>,
    wal_retain_closed: Option<u64>,
    durability: Option<Durability>,
}

impl WalDiff {
    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<WalDiff, Error> {
        let mut diff = WalDiff::default();
        reader.object(|r, key| {
            match key {
                "wal_capacity_mb" => diff.wal_capacity_mb = fields::integer(r, 1)?,
                "wal_segments_ahead" => diff.wal_segments_ahead = fields::integer(r, 0)?,
                "wal_retain_closed" => diff.wal_retain_closed = fields::integer(r, 0)?,
                "durability" => diff.durability = r.optional(|r| fields::choice(r, &DURABILITIES))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(diff)
    }
}
