//! One connection of many, which never blocks.

use crate::answer::{Answer, AnswerReader};
use crate::tally::Clock;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

/// Bytes that one connection reads before others are served.
const READ_BYTES: usize = 1 << 20;

/// The body of a request that only declares one.
static SPACES: [u8; 16 << 10] = [b' '; 16 << 10];

/// A connection and the request on it.
#[derive(Default)]
pub struct Client {
    socket: Option<TcpStream>,
    is_connected: bool,
    reader: AnswerReader,
    underway: Option<Underway>,
}

/// A request that has no answer yet.
#[derive(Clone, Copy)]
pub struct Underway {
    /// Index of its message in the plan.
    pub message: usize,
    /// Since when.
    pub clock: Clock,
    /// How much of it has been sent.
    written: u64,
}

/// What a client is to do while its socket is ready.
pub struct Work<'a> {
    /// The request; empty where there is none.
    pub message: &'a [u8],
    /// How many spaces behind it may have been sent by now.
    pub spaces: u64,
    /// Whether it reads.
    pub reads: bool,
    /// Buffer that responses are read into.
    pub buffer: &'a mut [u8],
    /// Bytes sent meanwhile.
    pub sent: u64,
    /// Bytes read meanwhile.
    pub received: u64,
}

/// How it ended.
#[derive(Debug)]
pub enum Step {
    /// The socket has nothing more.
    Waits,
    /// It may have more: it has to be called again.
    Continues,
    /// The request is answered.
    Answered(Answer),
    /// The connection is of no more use.
    Lost(String),
}

impl Client {
    /// Begins to connect.
    ///
    /// # Errors
    /// The system's.
    pub fn connect(&mut self, registry: &Registry, token: Token, address: SocketAddr) -> io::Result<()> {
        let mut socket = TcpStream::connect(address)?;
        registry.register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)?;
        *self = Client { socket: Some(socket), underway: self.underway, ..Client::default() };
        Ok(())
    }

    /// Whether it has a connection, or is about to.
    pub fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Whether its connection is open.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// The request that has no answer yet.
    pub fn underway(&self) -> Option<Underway> {
        self.underway
    }

    /// Takes on a request.
    pub fn begin(&mut self, message: usize, clock: Clock) {
        self.underway = Some(Underway { message, clock, written: 0 });
    }

    /// Ends the request, with the connection unless `keeps_open` and all of the request's `length` was sent.
    pub fn end(&mut self, keeps_open: bool, length: u64) -> Option<Underway> {
        let underway = self.underway.take();
        if !keeps_open || underway.is_some_and(|request| request.written < length) {
            self.close();
        }
        underway
    }

    /// Closes the connection.
    pub fn close(&mut self) {
        self.socket = None;
        self.is_connected = false;
        self.reader = AnswerReader::default();
    }

    /// Sends and reads what can be sent and read now.
    pub fn advance(&mut self, work: &mut Work<'_>) -> Step {
        let result = self.settle().and_then(|settled| match settled {
            true => self.write(work).and_then(|()| self.read(work)),
            false => Ok(Step::Waits),
        });
        result.unwrap_or_else(|error| Step::Lost(error.kind().to_string()))
    }

    /// Whether the connection stands; false while it is being made.
    fn settle(&mut self) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(false) };
        if self.is_connected {
            return Ok(true);
        }
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        match socket.peer_addr() {
            Ok(_) => {
                socket.set_nodelay(true)?;
                self.is_connected = true;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, work: &mut Work<'_>) -> io::Result<()> {
        let (Some(socket), Some(underway)) = (&mut self.socket, &mut self.underway) else { return Ok(()) };
        let head = work.message.len() as u64;
        while underway.written < head + work.spaces {
            let rest = if underway.written < head {
                &work.message[underway.written as usize..]
            } else {
                let left = head + work.spaces - underway.written;
                &SPACES[..SPACES.len().min(left as usize)]
            };
            match socket.write(rest) {
                Ok(count) => {
                    underway.written += count as u64;
                    work.sent += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // A server that has refused the rest may have answered before it closed.
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&mut self, work: &mut Work<'_>) -> io::Result<Step> {
        let Some(socket) = &mut self.socket else { return Ok(Step::Waits) };
        if !work.reads {
            return Ok(Step::Waits);
        }
        let until = work.received + READ_BYTES as u64;
        while work.received < until {
            match socket.read(work.buffer) {
                Ok(0) => {
                    let answer = self.reader.closed().filter(|_| self.underway.is_some());
                    return Ok(answer.map_or(Step::Lost("closed by the server".to_string()), Step::Answered));
                }
                Ok(count) => {
                    work.received += count as u64;
                    // A server may say why it closes a connection that has asked nothing.
                    if self.underway.is_none() {
                        continue;
                    }
                    match self.reader.feed(&work.buffer[..count]) {
                        Ok(Some(answer)) => return Ok(Step::Answered(answer)),
                        Ok(None) => {}
                        Err(why) => return Ok(Step::Lost(why)),
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Step::Waits),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Step::Continues)
    }
}
