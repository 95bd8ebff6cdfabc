//! The connection of an attached process to the owner.

use super::frame::{self, FromOwner, PROTOCOL_VERSION, Peer, Purpose};
use super::outgoing::Outgoing;
use crate::allocator::try_copy;
use crate::error::Error;
use crate::supervision::{Supervisor, Task};
use crate::types::Lsn;
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes that are read from the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// A connection that was greeted.
pub struct Attachment {
    outgoing: Arc<Outgoing>,
    /// The process at the other end.
    pub owner: Peer,
    position: Arc<AtomicU64>,
}

/// What an attached process gets.
pub trait Receiver: Send + Sync + 'static {
    /// The answer to a call.
    fn answered(&self, call: u64, result: Result<Vec<u8>, Error>);
    /// The connection is over: nothing more comes.
    fn lost(&self);
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NotConnected {
    /// No process listens there, or none any more.
    Nobody,
    /// Another version of the protocol: a sentence that names both.
    OtherVersion(String),
    /// The owner refuses: a sentence.
    Refused(String),
}

impl From<io::Error> for NotConnected {
    fn from(_: io::Error) -> Self {
        NotConnected::Nobody
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.outgoing.cut();
    }
}

impl Attachment {
    /// Connects and waits at most `timeout` for the greeting: an owner that is opening the folder greets when it is open.
    ///
    /// # Errors
    /// [`NotConnected`].
    pub fn connect(
        socket: &Path,
        purpose: Purpose,
        timeout: Duration,
        supervisor: &Arc<Supervisor>,
    ) -> Result<(Attachment, BufReader<UnixStream>), NotConnected> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(timeout.max(Duration::from_millis(1))))?;
        let (outgoing, _) = Outgoing::start(&stream, supervisor)?;
        let me = Peer { version: PROTOCOL_VERSION, pid: std::process::id(), purpose };
        outgoing.send(frame::hello(me), None);
        let greeted = Self::greeting(&stream);
        if greeted.is_err() {
            outgoing.cut();
        }
        let (owner, position, reader) = greeted?;
        stream.set_read_timeout(None)?;
        let position = Arc::new(AtomicU64::new(position.get()));
        Ok((Attachment { outgoing, owner, position }, reader))
    }

    fn greeting(stream: &UnixStream) -> Result<(Peer, Lsn, BufReader<UnixStream>), NotConnected> {
        let mut reader = BufReader::with_capacity(READ_BYTES, stream.try_clone()?);
        let mut bytes = Vec::new();
        if !frame::read(&mut reader, &mut bytes, READ_BYTES)? {
            return Err(NotConnected::Nobody);
        }
        match FromOwner::decode(&bytes) {
            Some(FromOwner::Welcome { owner, position }) if owner.version == PROTOCOL_VERSION => {
                Ok((owner, position, reader))
            }
            Some(FromOwner::Welcome { owner, .. }) => Err(NotConnected::OtherVersion(format!(
                "{} speaks version {} of the protocol between processes, and this one version {PROTOCOL_VERSION}: use \
                 the same release of kithdb in all processes of a folder",
                super::address::described(owner.pid, owner.purpose),
                owner.version
            ))),
            Some(FromOwner::Refusal(why)) => Err(NotConnected::Refused(why.to_string())),
            _ => Err(NotConnected::Nobody),
        }
    }

    /// Hands what comes to `receiver`, on a thread of its own, until the connection is over. A panic ends it.
    ///
    /// # Errors
    /// When the system refuses the thread.
    pub fn receive(
        &self,
        mut reader: BufReader<UnixStream>,
        receiver: impl Receiver,
        supervisor: &Arc<Supervisor>,
    ) -> io::Result<()> {
        let position = Arc::clone(&self.position);
        let outgoing = Arc::clone(&self.outgoing);
        let receiver = Arc::new(receiver);
        let (receiving, watched) = (Arc::clone(&receiver), Arc::clone(supervisor));
        let receive = move || {
            let mut bytes = Vec::new();
            while let Ok(true) = frame::read(&mut reader, &mut bytes, frame::MAX_FRAME_BYTES) {
                // Dropped before the next one is waited for: it may have hundreds of megabytes.
                let frame = std::mem::take(&mut bytes);
                let hand_over = || hand_over(&frame, &position, &*receiving);
                if watched.catch(Task::Receive, None, hand_over) != Ok(true) {
                    return;
                }
            }
        };
        let end = move || {
            outgoing.cut();
            receiver.lost();
        };
        supervisor.spawn_once("kith-receive", Task::Receive, receive, end).map(drop)
    }

    /// The position of the log that the owner has sent last.
    pub fn position(&self) -> Lsn {
        Lsn::new(self.position.load(Ordering::Acquire))
    }

    /// The way to the owner.
    pub fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }
}

/// Hands a frame to `receiver`; false for one that an owner does not send.
fn hand_over(frame: &[u8], position: &AtomicU64, receiver: &impl Receiver) -> bool {
    let (call, position_then, result) = match FromOwner::decode(frame) {
        Some(FromOwner::Answer { call, position, envelope }) => {
            (call, position, try_copy(envelope).map_err(|_| Error::MemoryLimit))
        }
        Some(FromOwner::Failure { call, position, error }) => (call, position, Err(error)),
        _ => return false,
    };
    position.fetch_max(position_then.get(), Ordering::AcqRel);
    receiver.answered(call, result);
    true
}
