//! What became of the requests of a run.

use crate::histogram::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// The times of some requests.
#[derive(Default)]
struct Times {
    /// From when a request was due, so that a server that stalls the client does not hide those that could not be sent
    /// meanwhile ("coordinated omission").
    latency: Histogram,
    /// From when it was sent.
    service: Histogram,
}

impl Times {
    fn record(&mut self, clock: Clock, now: Instant) {
        self.latency.record(now - clock.due);
        if let Some(sent) = clock.sent {
            self.service.record(now - sent);
        }
    }

    fn report(&self) -> Value {
        json!({
            "count": self.latency.count(),
            "sent": self.service.count(),
            "latency": milliseconds(&self.latency),
            "service": milliseconds(&self.service),
        })
    }
}

/// When a request was due, and when it was sent.
#[derive(Clone, Copy)]
pub struct Clock {
    /// When the schedule had it.
    pub due: Instant,
    /// When the client began to send it, or to connect for it; nothing while it waits for a connection.
    pub sent: Option<Instant>,
}

impl Clock {
    /// The clock of a request that is sent when it is due.
    pub fn starting(now: Instant) -> Clock {
        Clock { due: now, sent: Some(now) }
    }
}

/// How a request ended.
pub enum Outcome {
    /// An answer with this status came.
    Answered(u16),
    /// The connection failed, or there was none. Has the reason.
    Failed(String),
    /// No answer came before the run ended.
    Unanswered,
}

/// The requests of one label.
#[derive(Default)]
struct Group {
    /// All of them: those that failed or had no answer at the end count with the time that the client waited.
    waited: Times,
    statuses: BTreeMap<u16, Times>,
    failed: u64,
    unanswered: u64,
}

impl Group {
    fn record(&mut self, outcome: &Outcome, clock: Clock, now: Instant) {
        self.waited.record(clock, now);
        match outcome {
            Outcome::Answered(status) => self.statuses.entry(*status).or_default().record(clock, now),
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Unanswered => self.unanswered += 1,
        }
    }

    fn report(&self) -> Value {
        let statuses = self.statuses.iter().map(|(status, times)| (status.to_string(), times.report()));
        json!({
            "waited": self.waited.report(),
            "statuses": Value::Object(statuses.collect()),
            "failed": self.failed,
            "unanswered": self.unanswered,
        })
    }
}

/// Counts of connections.
#[derive(Default)]
pub struct Connections {
    /// Those that were opened, one that was opened again included.
    pub opened: u64,
    /// Attempts that failed.
    pub refused: u64,
    /// Those that the server closed, in the middle of a request or without one.
    pub closed_by_server: u64,
    /// Those that were open when the run ended.
    pub open_at_end: u64,
}

/// Reasons of failures that are counted separately; the rest are counted together.
const MAX_REASONS: usize = 32;

/// Everything that a run counts.
pub struct Tally {
    /// When counting began: requests that ended before are not counted.
    from: Instant,
    /// Requests that ended, those of the warm-up included.
    ended: u64,
    all: Group,
    labels: BTreeMap<String, Group>,
    /// How often requests failed for which reason.
    failures: BTreeMap<String, u64>,
    /// Counts of connections.
    pub connections: Connections,
    /// Requests that were due and found no free connection before the run ended.
    pub unsent: u64,
    /// Bytes that the clients have sent.
    pub sent_bytes: u64,
    /// Bytes that the clients have read.
    pub received_bytes: u64,
}

impl Tally {
    /// An empty one, which counts requests that end from then on.
    pub fn new(from: Instant) -> Tally {
        Tally {
            from,
            ended: 0,
            all: Group::default(),
            labels: BTreeMap::new(),
            failures: BTreeMap::new(),
            connections: Connections::default(),
            unsent: 0,
            sent_bytes: 0,
            received_bytes: 0,
        }
    }

    /// Counts a request that ended.
    pub fn record(&mut self, label: &str, outcome: &Outcome, clock: Clock, now: Instant) {
        self.ended += 1;
        if now < self.from {
            return;
        }
        self.all.record(outcome, clock, now);
        if !self.labels.contains_key(label) {
            self.labels.insert(label.to_string(), Group::default());
        }
        if let Some(group) = self.labels.get_mut(label) {
            group.record(outcome, clock, now);
        }
        if let Outcome::Failed(why) = outcome {
            let is_known = self.failures.contains_key(why) || self.failures.len() < MAX_REASONS;
            let reason = if is_known { why } else { "others" };
            *self.failures.entry(reason.to_string()).or_default() += 1;
        }
    }

    /// How many requests ended, those of the warm-up included.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// The report of a run that ended at `now`; times are in milliseconds.
    pub fn report(&self, now: Instant) -> Value {
        let labels = self.labels.iter().map(|(label, group)| (label.clone(), group.report()));
        json!({
            "seconds": now.saturating_duration_since(self.from).as_secs_f64(),
            "all": self.all.report(),
            "labels": Value::Object(labels.collect()),
            "failures": self.failures,
            "unsent": self.unsent,
            "connections": {
                "opened": self.connections.opened,
                "refused": self.connections.refused,
                "closed_by_server": self.connections.closed_by_server,
                "open_at_end": self.connections.open_at_end,
            },
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
        })
    }
}

fn milliseconds(times: &Histogram) -> Value {
    let ms = |us: u64| us as f64 / 1000.0;
    json!({
        "p50": ms(times.quantile_us(0.5)),
        "p99": ms(times.quantile_us(0.99)),
        "p999": ms(times.quantile_us(0.999)),
        "max": ms(times.max_us()),
        "mean": ms(times.mean_us()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_request_that_was_sent_late_has_a_longer_latency_than_service() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut tally = Tally::new(start);
        tally.record("a", &Outcome::Answered(200), Clock { due: at(10), sent: Some(at(110)) }, at(120));
        tally.record("a", &Outcome::Unanswered, Clock { due: at(20), sent: None }, at(220));
        tally.record("b", &Outcome::Failed("gone".to_string()), Clock::starting(at(100)), at(130));
        let report = tally.report(at(1000));
        assert_eq!(report["labels"]["a"]["statuses"]["200"]["latency"]["max"], 110.0);
        assert_eq!(report["labels"]["a"]["statuses"]["200"]["service"]["max"], 10.0);
        assert_eq!(report["labels"]["a"]["waited"]["latency"]["max"], 200.0);
        assert_eq!(report["labels"]["a"]["unanswered"], 1);
        assert_eq!(report["all"]["waited"]["count"], 3);
        assert_eq!(report["all"]["waited"]["service"]["max"], 30.0);
        assert_eq!(report["failures"]["gone"], 1);
        assert_eq!(report["seconds"], 1.0);
    }

    #[test]
    fn requests_that_end_in_the_warm_up_are_not_counted() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut tally = Tally::new(at(2));
        tally.record("a", &Outcome::Answered(200), Clock::starting(start), at(1));
        tally.record("a", &Outcome::Answered(200), Clock::starting(start), at(3));
        assert_eq!(tally.report(at(4))["all"]["waited"]["count"], 1);
        assert_eq!(tally.report(at(4))["all"]["waited"]["service"]["max"], 3000.0);
        assert_eq!(tally.ended(), 2);
    }
}
