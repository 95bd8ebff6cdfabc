//! Which limits of strict mode a request meets.

/// Which limits of strict mode a request meets. The coordinator of a cluster has a request checked as a whole and then asks
/// shards for its parts (docs/cluster.md), which may be wider than the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrictScope {
    /// All of them.
    #[default]
    Request,
    /// All but those on the size of the collection. The answer is `true`, and nothing is done.
    Check {
        /// The `timeout` that its client gave, in seconds: that of the request is the time that is left.
        timeout: Option<u64>,
    },
    /// The request is a part of one that was checked: only the size of the collection is limited, which other shards have a part
    /// of.
    Part {
        /// What the other shards have.
        elsewhere: CollectionSize,
    },
}

/// What strict mode limits of a collection as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectionSize {
    /// Live points.
    pub points: u64,
    /// Bytes of their vectors.
    pub vector_bytes: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
}

impl StrictScope {
    /// Reads `check`, `check:TIMEOUT` or `part:POINTS:VECTOR_BYTES:PAYLOAD_BYTES`; `None` for anything else.
    pub fn parse(text: &str) -> Option<StrictScope> {
        let (kind, numbers) = text.split_once(':').unwrap_or((text, ""));
        let numbers: Vec<u64> = numbers
            .split(':')
            .filter(|_| !numbers.is_empty())
            .map(|one| one.parse().ok())
            .collect::<Option<_>>()?;
        match (kind, &numbers[..]) {
            ("check", []) => Some(StrictScope::Check { timeout: None }),
            ("check", &[seconds]) => Some(StrictScope::Check { timeout: Some(seconds) }),
            ("part", &[points, vector_bytes, payload_bytes]) => {
                let elsewhere = CollectionSize { points, vector_bytes, payload_bytes };
                Some(StrictScope::Part { elsewhere })
            }
            _ => None,
        }
    }

    /// Whether nothing but the check is asked for.
    pub fn is_check(self) -> bool {
        matches!(self, StrictScope::Check { .. })
    }

    /// What other shards have of the collection.
    pub(super) fn elsewhere(self) -> CollectionSize {
        match self {
            StrictScope::Part { elsewhere } => elsewhere,
            _ => CollectionSize::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_text() {
        let elsewhere = CollectionSize { points: 1, vector_bytes: 2, payload_bytes: 30 };
        for (text, scope) in [
            ("check", StrictScope::Check { timeout: None }),
            ("check:60", StrictScope::Check { timeout: Some(60) }),
            ("part:1:2:30", StrictScope::Part { elsewhere }),
        ] {
            assert_eq!(StrictScope::parse(text), Some(scope));
        }
        for text in ["", "request", "check:-1", "check:1:2", "part", "part:1:2", "part:1:2:3:4", "part:1:2:x"]
        {
            assert_eq!(StrictScope::parse(text), None, "{text}");
        }
    }
}
