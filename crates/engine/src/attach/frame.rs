//! The messages between an attached process and the owner. Each is a frame: its length (4 bytes, little-endian, without
//! these), its kind (1 byte), and the rest. `docs/embedding.md` has the tables.

use crate::api::Strictness;
use crate::engine::{BodyForm, Operation, Packing};
use crate::error::Error;
use crate::types::{Lsn, OperationId};
use std::io::{self, Read};

/// Version of the protocol. A hello and its answer have the same form in every version.
pub const PROTOCOL_VERSION: u32 = 8;
/// First bytes of a hello and of its answer.
const MAGIC: &[u8; 8] = b"KITHATT\0";
/// The longest body of a call, in a process that owns the folder too, so that both take the same calls.
pub const MAX_BODY_BYTES: usize = 256 << 20;
/// The longest frame once the hello was answered: a body, or an answer of an engine, and what surrounds it.
pub const MAX_FRAME_BYTES: usize = MAX_BODY_BYTES + (1 << 20);
/// What goes before the envelope of an answer: the kind of the frame, the call and the position.
const ANSWER_HEAD_BYTES: usize = 17;
/// The longest envelope, or code and details of a failure with their length. An answer with more is a failure.
const MAX_ANSWER_BYTES: usize = MAX_FRAME_BYTES - ANSWER_HEAD_BYTES;
/// The longest frame before the hello was answered.
pub const MAX_HELLO_BYTES: usize = 64;
/// The longest name of a collection, or target. Longer ones exist nowhere.
pub const MAX_NAME_BYTES: usize = 64 << 10;
/// Memory that is taken for a frame before any of it has come.
const FIRST_BYTES: usize = 64 << 10;

const HELLO: u8 = 1;
/// The kind of a call.
pub const CALL: u8 = 2;
const CANCEL: u8 = 3;
const HAND_OVER: u8 = 4;
const WELCOME: u8 = 11;
const ANSWER: u8 = 12;
const FAILURE: u8 = 13;
const REFUSAL: u8 = 14;

const WAIT: u16 = 1;
const HAS_TARGET: u16 = 2;
const HAS_IDENTITY: u16 = 4;
const HAS_BEEN_SENT: u16 = 8;
const HAS_ANSWER_BUDGET: u16 = 16;
const IS_LENIENT: u16 = 32;
const PACKS_BODY: u16 = 64;
const PACKS_ANSWER: u16 = 128;
const GIVES_OUT_TEXTS: u16 = 256;
const IS_ARROW: u16 = 512;
const IS_LINES: u16 = 1024;
const FLAGS: u16 = (IS_LINES << 1) - 1;

/// What a process opens the folder for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To use it itself.
    Embedded,
    /// To serve it over HTTP: it gets the folder from an embedded owner, and keeps it until it ends.
    Server,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Version of its protocol.
    pub version: u32,
    /// Its process id, as it says.
    pub pid: u32,
    /// What it has the folder open for.
    pub purpose: Purpose,
}

/// A call as it is sent.
#[derive(Debug, PartialEq)]
pub struct CallFrame<'a> {
    /// Number of the call in its connection.
    pub call: u64,
    pub operation: Operation,
    pub collection: &'a str,
    pub target: Option<&'a str>,
    pub wait: bool,
    pub strictness: Strictness,
    pub gives_out_texts: bool,
    /// Time that is left of the call's.
    pub timeout_ms: u64,
    pub answer_budget: Option<u64>,
    pub id: Option<OperationId>,
    /// When the call is repeated: see [`CallIdentity`](crate::recent_operations::CallIdentity).
    pub first_sent: Option<Lsn>,
    pub packing: Packing,
    pub body: &'a [u8],
}

/// A message to the owner.
#[derive(Debug, PartialEq)]
pub enum ToOwner<'a> {
    Hello(Peer),
    Call(CallFrame<'a>),
    /// Nobody waits for the call of that number any more.
    Cancel(u64),
    /// A server asks for the folder.
    HandOver,
}

/// A message from the owner. `position` is its [`log_position`](crate::engine::Engine::log_position).
#[derive(Debug, PartialEq)]
pub enum FromOwner<'a> {
    Welcome {
        owner: Peer,
        position: Lsn,
    },
    Answer {
        call: u64,
        position: Lsn,
        envelope: &'a [u8],
    },
    Failure {
        call: u64,
        position: Lsn,
        error: Error,
    },
    /// The connection cannot be used: a sentence.
    Refusal(&'a str),
}

/// A frame that is begun: its length is entered by [`finish`].
fn begin(kind: u8, room: usize) -> Vec<u8> {
    let mut frame = Vec::with_capacity(5 + room);
    frame.extend_from_slice(&[0, 0, 0, 0, kind]);
    frame
}

/// Enters the length of a frame; `more` bytes follow it.
fn finish(mut frame: Vec<u8>, more: usize) -> Vec<u8> {
    let length = (frame.len() - 4 + more) as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame
}

fn put_peer(frame: &mut Vec<u8>, peer: Peer) {
    frame.extend_from_slice(MAGIC);
    frame.extend_from_slice(&peer.version.to_le_bytes());
    frame.extend_from_slice(&peer.pid.to_le_bytes());
    frame.push(u8::from(peer.purpose == Purpose::Server));
}

/// The first frame of an attached process.
pub fn hello(peer: Peer) -> Vec<u8> {
    let mut frame = begin(HELLO, 17);
    put_peer(&mut frame, peer);
    finish(frame, 0)
}

/// The owner's answer to a hello.
pub fn welcome(owner: Peer, position: Lsn) -> Vec<u8> {
    let mut frame = begin(WELCOME, 25);
    put_peer(&mut frame, owner);
    frame.extend_from_slice(&position.get().to_le_bytes());
    finish(frame, 0)
}

/// The owner cannot use the connection.
pub fn refusal(why: &str) -> Vec<u8> {
    let mut frame = begin(REFUSAL, why.len());
    frame.extend_from_slice(why.as_bytes());
    finish(frame, 0)
}

/// Nobody waits for a call any more.
pub fn cancel(call: u64) -> Vec<u8> {
    let mut frame = begin(CANCEL, 8);
    frame.extend_from_slice(&call.to_le_bytes());
    finish(frame, 0)
}

/// Asks for the folder.
pub fn hand_over() -> Vec<u8> {
    finish(begin(HAND_OVER, 0), 0)
}

/// The frame of a call without its body, which follows.
pub fn call_head(call: &CallFrame<'_>) -> Vec<u8> {
    let flags = [
        (call.wait, WAIT),
        (call.target.is_some(), HAS_TARGET),
        (call.id.is_some(), HAS_IDENTITY),
        (call.first_sent.is_some(), HAS_BEEN_SENT),
        (call.answer_budget.is_some(), HAS_ANSWER_BUDGET),
        (call.strictness == Strictness::Lenient, IS_LENIENT),
        (call.gives_out_texts, GIVES_OUT_TEXTS),
        (call.packing.body == BodyForm::Packed, PACKS_BODY),
        (call.packing.answer, PACKS_ANSWER),
        (call.packing.body == BodyForm::Arrow, IS_ARROW),
        (call.packing.body == BodyForm::Lines, IS_LINES),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0_u16, |all, (_, flag)| all | flag);
    let target = call.target.unwrap_or_default();
    let mut frame = begin(CALL, 64 + call.collection.len() + target.len());
    frame.extend_from_slice(&call.call.to_le_bytes());
    frame.push(call.operation.place() as u8);
    frame.extend_from_slice(&flags.to_le_bytes());
    frame.extend_from_slice(&call.timeout_ms.to_le_bytes());
    frame.extend(call.answer_budget.iter().flat_map(|room| room.to_le_bytes()));
    frame.extend(call.id.iter().flat_map(|id| id.get().to_le_bytes()));
    frame.extend(call.first_sent.iter().flat_map(|lsn| lsn.get().to_le_bytes()));
    for text in [call.collection, target] {
        frame.extend_from_slice(&(text.len() as u32).to_le_bytes());
        frame.extend_from_slice(text.as_bytes());
    }
    finish(frame, call.body.len())
}

/// The frame of a success; that of a failure where the envelope is too long for a frame.
pub fn answer(call: u64, position: Lsn, envelope: &[u8]) -> Vec<u8> {
    if envelope.len() > MAX_ANSWER_BYTES {
        return failure(call, position, &too_long(envelope.len()));
    }
    let mut frame = begin(ANSWER, ANSWER_HEAD_BYTES - 1 + envelope.len());
    frame.extend_from_slice(&call.to_le_bytes());
    frame.extend_from_slice(&position.get().to_le_bytes());
    frame.extend_from_slice(envelope);
    finish(frame, 0)
}

/// The frame of a failure; that of another one where the details are too long for a frame.
pub fn failure(call: u64, position: Lsn, error: &Error) -> Vec<u8> {
    let (code, details) = (error.code(), error.details_json());
    let bytes = 1 + code.len() + details.len();
    if bytes > MAX_ANSWER_BYTES {
        return failure(call, position, &too_long(bytes));
    }
    let mut frame = begin(FAILURE, 17 + code.len() + details.len());
    frame.extend_from_slice(&call.to_le_bytes());
    frame.extend_from_slice(&position.get().to_le_bytes());
    frame.push(code.len() as u8);
    frame.extend_from_slice(code.as_bytes());
    frame.extend_from_slice(&details);
    finish(frame, 0)
}

fn too_long(bytes: usize) -> Error {
    Error::bad(format!("an answer of {bytes} bytes, where {MAX_ANSWER_BYTES} are the most"))
}

/// Reads a frame of at most `most` bytes into `frame`, without its length; false at the end of the stream.
///
/// # Errors
/// The errors of the stream, and `InvalidData` for a frame that is empty or too long.
pub fn read(stream: &mut impl Read, frame: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        done => done?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length == 0 || length > most {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of a length that none has"));
    }
    // Memory grows with what arrives, and not with what is announced. The standard library reserves so that a refusal is an
    // error (`OutOfMemory`).
    *frame = Vec::with_capacity(length.min(FIRST_BYTES));
    if stream.take(length as u64).read_to_end(frame)? == length {
        Ok(true)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// What is left of a frame to decode.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn name(&mut self) -> Option<&'a str> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        if length > MAX_NAME_BYTES {
            return None;
        }
        std::str::from_utf8(self.take(length)?).ok()
    }

    fn peer(&mut self) -> Option<Peer> {
        if self.array::<8>()? != *MAGIC {
            return None;
        }
        let version = u32::from_le_bytes(self.array()?);
        let pid = u32::from_le_bytes(self.array()?);
        let purpose = if self.byte()? == 1 { Purpose::Server } else { Purpose::Embedded };
        Some(Peer { version, pid, purpose })
    }

    fn call(&mut self) -> Option<CallFrame<'a>> {
        let call = self.number()?;
        let operation = Operation::at(usize::from(self.byte()?))?;
        let flags = u16::from_le_bytes(self.array()?);
        if flags & !FLAGS != 0 {
            return None;
        }
        let has = |flag: u16| flags & flag != 0;
        let timeout_ms = self.number()?;
        let answer_budget = if has(HAS_ANSWER_BUDGET) { Some(self.number()?) } else { None };
        let id =
            if has(HAS_IDENTITY) { Some(OperationId::new(u128::from_le_bytes(self.array()?))) } else { None };
        let first_sent = if has(HAS_BEEN_SENT) { Some(Lsn::new(self.number()?)) } else { None };
        let collection = self.name()?;
        let target = Some(self.name()?).filter(|_| has(HAS_TARGET));
        let form = match (has(PACKS_BODY), has(IS_ARROW), has(IS_LINES)) {
            (false, false, false) => BodyForm::Json,
            (true, false, false) => BodyForm::Packed,
            (false, true, false) => BodyForm::Arrow,
            (false, false, true) => BodyForm::Lines,
            _ => return None,
        };
        let body = std::mem::take(&mut self.0);
        Some(CallFrame {
            call,
            operation,
            collection,
            target,
            wait: has(WAIT),
            strictness: if has(IS_LENIENT) { Strictness::Lenient } else { Strictness::Strict },
            gives_out_texts: has(GIVES_OUT_TEXTS),
            timeout_ms,
            answer_budget,
            id,
            first_sent,
            packing: Packing { body: form, answer: has(PACKS_ANSWER) },
            body,
        })
    }

    fn end<T>(self, message: T) -> Option<T> {
        self.0.is_empty().then_some(message)
    }
}

impl<'a> ToOwner<'a> {
    /// Decodes a frame; nothing when it is none that an owner gets.
    pub fn decode(frame: &'a [u8]) -> Option<ToOwner<'a>> {
        let mut rest = Rest(frame);
        match rest.byte()? {
            // Later versions may add to it.
            HELLO => rest.peer().map(ToOwner::Hello),
            CALL => rest.call().map(ToOwner::Call),
            CANCEL => {
                let call = rest.number()?;
                rest.end(ToOwner::Cancel(call))
            }
            HAND_OVER => rest.end(ToOwner::HandOver),
            _ => None,
        }
    }
}

impl<'a> FromOwner<'a> {
    /// Decodes a frame; nothing when it is none that an owner sends.
    pub fn decode(frame: &'a [u8]) -> Option<FromOwner<'a>> {
        let mut rest = Rest(frame);
        match rest.byte()? {
            // Later versions may add to it.
            WELCOME => {
                let owner = rest.peer()?;
                let position = Lsn::new(rest.number().unwrap_or_default());
                Some(FromOwner::Welcome { owner, position })
            }
            kind @ (ANSWER | FAILURE) => {
                let (call, position) = (rest.number()?, Lsn::new(rest.number()?));
                if kind == ANSWER {
                    return Some(FromOwner::Answer { call, position, envelope: rest.0 });
                }
                let length = usize::from(rest.byte()?);
                let code = std::str::from_utf8(rest.take(length)?).ok()?;
                Some(FromOwner::Failure { call, position, error: Error::relayed(code, rest.0) })
            }
            REFUSAL => std::str::from_utf8(rest.0).ok().map(FromOwner::Refusal),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
