//! What a run does, as a JSON file says it.

use serde_derive::Deserialize;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// One run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Where the server listens.
    pub address: SocketAddr,
    /// The `Host` of each request.
    pub host: String,
    /// The credential of each request.
    pub token: Option<String>,
    /// The length of the run; without it the run lasts until the standard input ends, which ends it in any case.
    pub seconds: Option<f64>,
    /// Requests that end in so many seconds from the start are not counted.
    #[serde(default)]
    pub warm_up_seconds: f64,
    /// Sent one after the other, over and over.
    #[serde(default)]
    pub requests: Vec<Template>,
    /// Who sends them, and when.
    pub traffic: Traffic,
}

/// One request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The figures of requests with the same label are together.
    pub label: String,
    /// The method.
    pub method: String,
    /// The path, with the query string.
    pub path: String,
    /// JSON, or nothing.
    #[serde(default)]
    pub body: String,
}

/// Who sends the requests, and when.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Traffic {
    /// Each connection sends its next request when it has an answer.
    Closed {
        /// How many.
        connections: usize,
        /// After a 429 or a 503 a connection waits as long as `Retry-After` asks, else it sends at once.
        #[serde(default)]
        waits_when_refused: bool,
        /// A connection that does not read leaves its answers in the buffers of the network.
        #[serde(default = "yes")]
        reads: bool,
    },
    /// Requests begin at a fixed rate, whatever the answers do, on whichever connection is free.
    Open {
        /// How many at most have a request under way.
        connections: usize,
        /// Requests a second.
        per_second: f64,
    },
    /// One connection, on a thread that does nothing else.
    Probe {
        /// Requests a second; without it the next follows each answer.
        per_second: Option<f64>,
        /// A new connection after so many requests; without it the server decides.
        requests_per_connection: Option<u64>,
        /// The client's own address.
        source: Option<IpAddr>,
    },
    /// Each connection sends the head of its request, and then a body of spaces a little each second.
    Trickle {
        /// How many.
        connections: usize,
        /// The `Content-Length`.
        declared_bytes: u64,
        /// How much of the body each connection sends in a second.
        bytes_per_second: u64,
    },
    /// Connections that send nothing.
    Silent {
        /// How many.
        connections: usize,
    },
}

fn yes() -> bool {
    true
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// A file that cannot be read, and a plan that makes no sense.
    pub fn read(path: &Path) -> Result<Plan, Box<dyn Error>> {
        let plan: Plan = serde_json::from_slice(&std::fs::read(path)?)?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), String> {
        let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
        let (connections, rate, is_silent) = match &self.traffic {
            Traffic::Closed { connections, .. } => (*connections, None, false),
            Traffic::Open { connections, per_second } => (*connections, Some(*per_second), false),
            Traffic::Probe { per_second, .. } => (1, *per_second, false),
            Traffic::Trickle { connections, bytes_per_second, .. } => {
                (*connections, Some(*bytes_per_second as f64), false)
            }
            Traffic::Silent { connections } => (*connections, None, true),
        };
        match () {
            () if connections == 0 => Err("connections: at least one".to_string()),
            () if rate.is_some_and(|rate| !is_rate(rate)) => Err("a rate above 0 is needed".to_string()),
            () if self.requests.is_empty() != is_silent => {
                Err("requests: at least one, and none of silent connections".to_string())
            }
            () if self.seconds.is_some_and(|seconds| !is_rate(seconds)) => {
                Err("seconds: a number above 0".to_string())
            }
            () if !self.warm_up_seconds.is_finite() || self.warm_up_seconds < 0.0 => {
                Err("warm_up_seconds: a number from 0 on".to_string())
            }
            () => Ok(()),
        }
    }

    /// The length of the run with its warm-up, if the plan limits it.
    pub fn length(&self) -> Option<Duration> {
        self.seconds.map(|seconds| Duration::from_secs_f64(seconds + self.warm_up_seconds))
    }

    /// The bytes of each request, heads and bodies.
    pub fn messages(&self) -> Vec<Message> {
        let declared = match self.traffic {
            Traffic::Trickle { declared_bytes, .. } => Some(declared_bytes),
            _ => None,
        };
        self.requests.iter().map(|template| self.message(template, declared)).collect()
    }

    /// A request; one with a declared length has no body of its own.
    fn message(&self, Template { label, method, path, body }: &Template, declared: Option<u64>) -> Message {
        let body = if declared.is_some() { "" } else { body };
        let length = declared.unwrap_or(body.len() as u64);
        let host = &self.host;
        let mut bytes = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n").into_bytes();
        if let Some(token) = &self.token {
            bytes.extend_from_slice(format!("Authorization: Bearer {token}\r\n").as_bytes());
        }
        if length > 0 {
            let head = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
            bytes.extend_from_slice(head.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.as_bytes());
        Message { label: label.clone(), bytes }
    }
}

/// A request as it is sent.
pub struct Message {
    /// Under which its figures are.
    pub label: String,
    /// The head and the body.
    pub bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(json: &str) -> Result<Plan, String> {
        let plan: Plan = serde_json::from_str(json).map_err(|error| error.to_string())?;
        plan.check().map(|()| plan)
    }

    fn with(traffic: &str, requests: &str) -> Result<Plan, String> {
        plan(&format!(
            r#"{{"address":"127.0.0.1:1","host":"h:1","token":"t","traffic":{traffic},"requests":[{requests}]}}"#
        ))
    }

    const SEARCH: &str = r#"{"label":"search","method":"POST","path":"/a?b=c","body":"{}"}"#;

    #[test]
    fn a_request_is_sent_with_its_host_credential_and_length() {
        let plan = with(r#"{"closed": {"connections":1}}"#, SEARCH).expect("a plan");
        let sent = String::from_utf8(plan.messages().remove(0).bytes).expect("text");
        assert_eq!(
            sent,
            "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nAuthorization: Bearer t\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        );
    }

    #[test]
    fn a_trickled_request_has_its_head_only_and_declares_its_length() {
        let traffic = r#"{"trickle": {"connections":4,"declared_bytes":67108864,"bytes_per_second":1024}}"#;
        let plan = with(traffic, SEARCH).expect("a plan");
        let sent = String::from_utf8(plan.messages().remove(0).bytes).expect("text");
        assert!(sent.ends_with("Content-Length: 67108864\r\n\r\n"), "{sent}");
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        for (traffic, requests) in [
            (r#"{"closed": {"connections":0}}"#, SEARCH),
            (r#"{"closed": {"connections":1}}"#, ""),
            (r#"{"closed": {"connections":1,"unknown":2}}"#, SEARCH),
            (r#"{"open": {"connections":1,"per_second":0}}"#, SEARCH),
            (r#"{"silent": {"connections":1}}"#, SEARCH),
            (r#"{"other": {}}"#, SEARCH),
        ] {
            assert!(with(traffic, requests).is_err(), "{traffic}");
        }
    }
}
