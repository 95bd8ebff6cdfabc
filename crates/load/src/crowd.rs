//! Many connections on one thread: closed and open loops, slow bodies, silent connections.

use crate::client::{Client, Step, Work};
use crate::plan::{Message, Plan, Traffic};
use crate::run::{Fallible, Stop, announce_start};
use crate::tally::{Clock, Outcome, Tally};
use mio::{Events, Poll, Token, Waker};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connection that failed is tried again after this time.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
/// A silent one that the server has closed comes back after this time: it occupies places, and is no storm of connections.
const SILENT_PAUSE: Duration = Duration::from_secs(1);
/// A slow body sends once in this time.
const TRICKLE_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for all connections before the start is announced.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
/// A refused client that is asked to wait without a time waits so long.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);
/// Requests of an open loop that wait for a free connection.
const MAX_WAITING: usize = 1 << 20;

/// The token of what ends the run early; the clients have their numbers.
const STOP: Token = Token(usize::MAX);

struct Crowd<'a> {
    plan: &'a Plan,
    messages: &'a [Message],
    poll: Poll,
    clients: Vec<Client>,
    /// Whether the first attempt to connect of each client has ended.
    settled: Vec<bool>,
    unsettled: usize,
    /// When a client is to do something by itself: start, try again, send more of a slow body. The last time that was set for
    /// a client counts.
    timers: BinaryHeap<Reverse<(Instant, usize)>>,
    wakes: Vec<Option<Instant>>,
    /// Clients whose sockets may have more.
    ready: Vec<usize>,
    /// In an open loop: clients without a request; `waiting` holds requests without a client.
    free: Vec<usize>,
    waiting: VecDeque<Instant>,
    arrivals: u64,
    next_message: usize,
    buffer: Vec<u8>,
    started: Instant,
    tally: Tally,
}

/// Runs a plan of many connections.
///
/// # Errors
/// The system's.
pub fn run(plan: &Plan, messages: &[Message], stop: &Arc<Stop>) -> Fallible<(Tally, Instant)> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), STOP)?;
    stop.on_stop(move || waker.wake().unwrap_or_default());
    let connections = match plan.traffic {
        Traffic::Closed { connections, .. }
        | Traffic::Open { connections, .. }
        | Traffic::Trickle { connections, .. }
        | Traffic::Silent { connections } => connections,
        Traffic::Probe { .. } => 1,
    };
    let started = Instant::now();
    let mut crowd = Crowd {
        plan,
        messages,
        poll,
        clients: (0..connections).map(|_| Client::default()).collect(),
        settled: vec![false; connections],
        unsettled: connections,
        timers: BinaryHeap::new(),
        wakes: vec![None; connections],
        ready: Vec::new(),
        free: Vec::new(),
        waiting: VecDeque::new(),
        arrivals: 0,
        next_message: 0,
        buffer: vec![0; 256 << 10],
        started,
        tally: Tally::new(started + Duration::from_secs_f64(plan.warm_up_seconds)),
    };
    crowd.until(plan.length().map(|length| started + length), stop)?;
    let ended = Instant::now();
    crowd.give_up(ended);
    Ok((crowd.tally, ended))
}

impl Crowd<'_> {
    fn until(&mut self, end: Option<Instant>, stop: &Stop) -> Fallible<()> {
        let mut events = Events::with_capacity(1024);
        let mut is_announced = false;
        for client in 0..self.clients.len() {
            self.wake_at(client, self.started + self.stagger(client));
        }
        loop {
            let now = Instant::now();
            if stop.has_come() || end.is_some_and(|end| now >= end) {
                return Ok(());
            }
            if !is_announced && (self.unsettled == 0 || now >= self.started + SETTLE_TIMEOUT) {
                announce_start();
                is_announced = true;
            }
            self.run_timers(now);
            self.add_arrivals(now);
            self.assign(now);
            for client in std::mem::take(&mut self.ready) {
                self.advance(client);
            }
            let wait = self.wait(end, is_announced);
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
            for event in events.iter().filter(|event| event.token() != STOP) {
                let client = event.token().0;
                let is_gone = event.is_error() || event.is_read_closed();
                if is_gone && !self.reads() && self.clients[client].is_connected() {
                    self.lose(client, "closed by the server".to_string());
                } else {
                    self.advance(client);
                }
            }
        }
    }

    /// How long nothing is to do but to wait for sockets.
    fn wait(&self, end: Option<Instant>, is_announced: bool) -> Duration {
        if !self.ready.is_empty() {
            return Duration::ZERO;
        }
        let timer = self.timers.peek().map(|Reverse((when, _))| *when);
        let settle = (!is_announced).then_some(self.started + SETTLE_TIMEOUT);
        let next = [timer, self.next_arrival(), end, settle].into_iter().flatten().min();
        let longest = Duration::from_secs(1);
        next.map_or(longest, |when| when.saturating_duration_since(Instant::now()).min(longest))
    }

    /// Slow bodies send at different moments of a second.
    fn stagger(&self, client: usize) -> Duration {
        match self.plan.traffic {
            Traffic::Trickle { connections, .. } => TRICKLE_PAUSE.mul_f64(client as f64 / connections as f64),
            _ => Duration::ZERO,
        }
    }

    fn reads(&self) -> bool {
        !matches!(self.plan.traffic, Traffic::Closed { reads: false, .. })
    }

    fn wake_at(&mut self, client: usize, when: Instant) {
        self.wakes[client] = Some(when);
        self.timers.push(Reverse((when, client)));
    }

    fn run_timers(&mut self, now: Instant) {
        while let Some(Reverse((when, client))) = self.timers.peek().copied() {
            if when > now {
                return;
            }
            self.timers.pop();
            if self.wakes[client] != Some(when) {
                continue;
            }
            self.wakes[client] = None;
            let is_trickling = matches!(self.plan.traffic, Traffic::Trickle { .. });
            if self.clients[client].underway().is_none() {
                self.start(client, now);
            } else if is_trickling {
                self.advance(client);
            }
            if is_trickling && self.clients[client].underway().is_some() {
                self.wake_at(client, now.max(when + TRICKLE_PAUSE));
            }
        }
    }

    /// A client without a request does what comes next.
    fn start(&mut self, client: usize, now: Instant) {
        match self.plan.traffic {
            // It connects when it has a request.
            Traffic::Open { .. } => {
                self.settle(client);
                self.free.push(client);
            }
            Traffic::Silent { .. } => self.open(client, now),
            _ => self.send(client, Clock::starting(now)),
        }
    }

    fn send(&mut self, client: usize, clock: Clock) {
        let message = self.next_message;
        self.next_message = (message + 1) % self.messages.len();
        self.clients[client].begin(message, clock);
        self.open(client, clock.sent.unwrap_or(clock.due));
        self.advance(client);
    }

    /// Connects where there is no connection.
    fn open(&mut self, client: usize, now: Instant) {
        if self.clients[client].has_socket() {
            return;
        }
        let (registry, address) = (self.poll.registry(), self.plan.address);
        if let Err(error) = self.clients[client].connect(registry, Token(client), address) {
            self.tally.connections.refused += 1;
            self.settle(client);
            self.finish(client, &Outcome::Failed(error.kind().to_string()), false, now);
            self.wake_at(client, now + RECONNECT_PAUSE);
        }
    }

    fn settle(&mut self, client: usize) {
        if !std::mem::replace(&mut self.settled[client], true) {
            self.unsettled -= 1;
        }
    }

    /// Lets a client send and read, and deals with what came of it.
    fn advance(&mut self, client: usize) {
        let was_connected = self.clients[client].is_connected();
        let reads = self.reads();
        let (message, spaces) = match self.clients[client].underway() {
            Some(underway) => (&self.messages[underway.message].bytes[..], self.spaces(underway.clock)),
            None => (&[][..], 0),
        };
        let mut work = Work { message, spaces, reads, buffer: &mut self.buffer, sent: 0, received: 0 };
        let step = self.clients[client].advance(&mut work);
        self.tally.sent_bytes += work.sent;
        self.tally.received_bytes += work.received;
        if !was_connected && self.clients[client].is_connected() {
            self.tally.connections.opened += 1;
            self.settle(client);
        }
        match step {
            Step::Waits => {}
            Step::Continues => self.ready.push(client),
            Step::Answered(answer) => {
                let now = Instant::now();
                self.finish(client, &Outcome::Answered(answer.status), answer.keeps_open, now);
                let Traffic::Closed { waits_when_refused: true, .. } = self.plan.traffic else {
                    return self.go_on(client, now);
                };
                if !matches!(answer.status, 429 | 503) {
                    return self.go_on(client, now);
                }
                let pause = answer.retry_after.unwrap_or(DEFAULT_RETRY_AFTER);
                self.wake_at(client, now + pause);
            }
            Step::Lost(why) => self.lose(client, why),
        }
    }

    /// A closed loop sends its next request at once; a slow body begins anew after its pause.
    fn go_on(&mut self, client: usize, now: Instant) {
        match self.plan.traffic {
            Traffic::Trickle { .. } => self.wake_at(client, now + TRICKLE_PAUSE),
            // By way of the timers and not at once: a server that answers fast must not make this recursive.
            _ => self.wake_at(client, now),
        }
    }

    fn lose(&mut self, client: usize, why: String) {
        let now = Instant::now();
        if self.clients[client].is_connected() {
            self.tally.connections.closed_by_server += 1;
        } else {
            self.tally.connections.refused += 1;
        }
        self.settle(client);
        let is_idle = self.clients[client].underway().is_none();
        self.finish(client, &Outcome::Failed(why), false, now);
        match self.plan.traffic {
            // It connects again when it has a request.
            Traffic::Open { .. } if is_idle => {}
            Traffic::Silent { .. } => self.wake_at(client, now + SILENT_PAUSE),
            _ => self.wake_at(client, now + RECONNECT_PAUSE),
        }
    }

    fn finish(&mut self, client: usize, outcome: &Outcome, keeps_open: bool, now: Instant) {
        let length = self.clients[client].underway().map_or(0, |request| self.length_of(request.message));
        if let Some(request) = self.clients[client].end(keeps_open, length) {
            self.tally.record(&self.messages[request.message].label, outcome, request.clock, now);
        }
    }

    fn length_of(&self, message: usize) -> u64 {
        let declared = match self.plan.traffic {
            Traffic::Trickle { declared_bytes, .. } => declared_bytes,
            _ => 0,
        };
        self.messages[message].bytes.len() as u64 + declared
    }

    /// How much of a declared body may have been sent by now.
    fn spaces(&self, clock: Clock) -> u64 {
        match self.plan.traffic {
            Traffic::Trickle { declared_bytes, bytes_per_second, .. } => {
                let seconds = clock.due.elapsed().as_secs_f64();
                declared_bytes.min((seconds * bytes_per_second as f64) as u64)
            }
            _ => 0,
        }
    }

    /// When the next request of an open loop is due.
    fn next_arrival(&self) -> Option<Instant> {
        match self.plan.traffic {
            Traffic::Open { per_second, .. } => {
                Some(self.started + Duration::from_secs_f64(self.arrivals as f64 / per_second))
            }
            _ => None,
        }
    }

    fn add_arrivals(&mut self, now: Instant) {
        while let Some(due) = self.next_arrival().filter(|due| *due <= now) {
            self.arrivals += 1;
            if self.waiting.len() < MAX_WAITING {
                self.waiting.push_back(due);
            } else {
                self.tally.unsent += 1;
            }
        }
    }

    /// Gives requests that are due to clients that are free.
    fn assign(&mut self, now: Instant) {
        while !self.waiting.is_empty() {
            let Some(client) = self.free.pop() else { return };
            let Some(due) = self.waiting.pop_front() else { return };
            self.send(client, Clock { due, sent: Some(now) });
        }
    }

    /// Counts what has no answer at the end.
    fn give_up(&mut self, now: Instant) {
        self.add_arrivals(now);
        self.tally.connections.open_at_end =
            self.clients.iter().filter(|client| client.is_connected()).count() as u64;
        for client in 0..self.clients.len() {
            self.finish(client, &Outcome::Unanswered, false, now);
        }
        let message = self.messages.get(self.next_message);
        for due in std::mem::take(&mut self.waiting) {
            self.tally.unsent += 1;
            let label = message.map_or("", |message| &message.label);
            self.tally.record(label, &Outcome::Unanswered, Clock { due, sent: None }, now);
        }
    }
}
