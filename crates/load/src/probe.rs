//! One connection on a thread that does nothing else: its times have no delay of an event loop in them.

use crate::answer::{Answer, AnswerReader};
use crate::plan::{Message, Plan};
use crate::run::{Fallible, Stop, announce_start};
use crate::tally::{Clock, Outcome, Tally};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time until a probe sees that the run has ended.
const SLICE: Duration = Duration::from_millis(50);
/// A connection that is not made in this time has failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After a failure.
const PAUSE: Duration = Duration::from_millis(10);

/// How a probe sends.
pub struct Pace {
    /// Requests a second; without it the next follows each answer.
    pub per_second: Option<f64>,
    /// A new connection after so many requests.
    pub requests_per_connection: Option<u64>,
    /// The client's own address.
    pub source: Option<IpAddr>,
}

struct Probe<'a> {
    address: SocketAddr,
    pace: &'a Pace,
    stop: &'a Stop,
    end: Option<Instant>,
    socket: Option<TcpStream>,
    /// Requests on this connection.
    used: u64,
    reader: AnswerReader,
    buffer: Vec<u8>,
    tally: Tally,
}

/// Why a request has no answer.
enum ProbeError {
    Failed(io::Error),
    /// The run has ended.
    Ended,
}

impl From<io::Error> for ProbeError {
    fn from(error: io::Error) -> ProbeError {
        ProbeError::Failed(error)
    }
}

/// Runs a plan of one connection.
///
/// # Errors
/// None that a request can have: those are counted.
pub fn run(plan: &Plan, messages: &[Message], pace: &Pace, stop: &Arc<Stop>) -> Fallible<(Tally, Instant)> {
    let started = Instant::now();
    let from = started + Duration::from_secs_f64(plan.warm_up_seconds);
    let mut probe = Probe {
        address: plan.address,
        pace,
        stop,
        end: plan.length().map(|length| started + length),
        socket: None,
        used: 0,
        reader: AnswerReader::default(),
        buffer: vec![0; 256 << 10],
        tally: Tally::new(from),
    };
    announce_start();
    for (sent, message) in (0u64..).zip(messages.iter().cycle()) {
        let due = match pace.per_second {
            Some(rate) => started + Duration::from_secs_f64(sent as f64 / rate),
            None => Instant::now(),
        };
        if !probe.sleep_until(due) {
            break;
        }
        if !probe.request(message, due) {
            break;
        }
    }
    let ended = Instant::now();
    if let Some(rate) = pace.per_second {
        probe.count_missed(rate, started, ended, messages);
    }
    probe.tally.connections.open_at_end = u64::from(probe.socket.is_some());
    Ok((probe.tally, ended))
}

impl Probe<'_> {
    fn has_ended(&self) -> bool {
        self.stop.has_come() || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// False when the run ends before.
    fn sleep_until(&self, when: Instant) -> bool {
        loop {
            if self.has_ended() {
                return false;
            }
            let left = when.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }

    /// Sends one request and waits for its answer; false when the run ends before.
    fn request(&mut self, message: &Message, due: Instant) -> bool {
        let clock = Clock { due, sent: Some(Instant::now()) };
        let (outcome, goes_on) = match self.exchange(&message.bytes) {
            Ok(answer) => {
                self.used += 1;
                if !answer.keeps_open || self.pace.requests_per_connection == Some(self.used) {
                    self.socket = None;
                }
                (Outcome::Answered(answer.status), true)
            }
            Err(ProbeError::Ended) => (Outcome::Unanswered, false),
            Err(ProbeError::Failed(error)) => {
                self.socket = None;
                std::thread::sleep(PAUSE);
                (Outcome::Failed(error.kind().to_string()), true)
            }
        };
        self.tally.record(&message.label, &outcome, clock, Instant::now());
        goes_on
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Answer, ProbeError> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.connect()?,
        };
        let answer = self.send_and_read(&mut socket, message)?;
        self.socket = Some(socket);
        Ok(answer)
    }

    fn send_and_read(&mut self, socket: &mut TcpStream, mut message: &[u8]) -> Result<Answer, ProbeError> {
        while !message.is_empty() {
            match socket.write(message) {
                Ok(count) => {
                    self.tally.sent_bytes += count as u64;
                    message = &message[count..];
                }
                Err(error) => self.wait_after(error)?,
            }
        }
        loop {
            match socket.read(&mut self.buffer) {
                Ok(0) => {
                    self.tally.connections.closed_by_server += 1;
                    return self.reader.closed().ok_or(io::Error::from(ErrorKind::UnexpectedEof).into());
                }
                Ok(count) => {
                    self.tally.received_bytes += count as u64;
                    let answer = self.reader.feed(&self.buffer[..count]).map_err(io::Error::other)?;
                    if let Some(answer) = answer {
                        return Ok(answer);
                    }
                }
                Err(error) => self.wait_after(error)?,
            }
        }
    }

    /// Goes on after a slice of waiting, until the run ends.
    fn wait_after(&self, error: io::Error) -> Result<(), ProbeError> {
        let is_slice =
            matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted);
        match is_slice {
            true if self.has_ended() => Err(ProbeError::Ended),
            true => Ok(()),
            false => Err(ProbeError::Failed(error)),
        }
    }

    fn connect(&mut self) -> Result<TcpStream, ProbeError> {
        let socket = Socket::new(Domain::for_address(self.address), Type::STREAM, Some(Protocol::TCP))?;
        if let Some(source) = self.pace.source {
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
        if let Err(error) = socket.connect_timeout(&self.address.into(), CONNECT_TIMEOUT) {
            self.tally.connections.refused += 1;
            return Err(error.into());
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        self.tally.connections.opened += 1;
        self.reader = AnswerReader::default();
        self.used = 0;
        Ok(socket)
    }

    /// Requests that were due while the last one had no answer.
    fn count_missed(&mut self, rate: f64, started: Instant, ended: Instant, messages: &[Message]) {
        let due = ((ended - started).as_secs_f64() * rate) as u64;
        let sent = self.tally.ended();
        for (missed, message) in (sent..due).zip(messages.iter().cycle()) {
            let due = started + Duration::from_secs_f64(missed as f64 / rate);
            self.tally.unsent += 1;
            self.tally.record(&message.label, &Outcome::Unanswered, Clock { due, sent: None }, ended);
        }
    }
}
