//! Frames on their way to the other process. Who sends one never waits for the other process: what its socket does not take
//! at once is written by a thread.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::supervision::{Supervisor, Task};
use parking_lot::{Condvar, Mutex};

/// How long the other process may read nothing of what it gets before it loses the connection (C1.5).
const UNREAD: Duration = Duration::from_secs(30);
/// Bodies up to this length are copied behind the head of their frame, which costs less than a second call of the system.
const COPIED_BYTES: usize = 64 << 10;

/// Bytes that several threads share.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A part of the stream.
enum Part {
    Own(Vec<u8>),
    Shared(SharedBytes),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Part::Own(bytes) => bytes,
            Part::Shared(bytes) => (**bytes).as_ref(),
        }
    }
}

#[derive(Default)]
struct Queue {
    parts: VecDeque<Part>,
    /// Bytes of the first part that were written.
    written: usize,
    bytes: usize,
    /// The thread is writing the first part.
    is_writing: bool,
    is_closed: bool,
}

/// The sending half of a connection.
pub struct Outgoing {
    stream: UnixStream,
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Outgoing {
    /// Starts the thread, which ends when the connection is [cut](Self::cut), or its other end does not read. A panic in it
    /// cuts the connection.
    ///
    /// # Errors
    /// When the system refuses the thread or a handle of the socket.
    pub fn start(
        stream: &UnixStream,
        supervisor: &Arc<Supervisor>,
    ) -> io::Result<(Arc<Outgoing>, JoinHandle<()>)> {
        let stream = stream.try_clone()?;
        stream.set_write_timeout(Some(UNREAD))?;
        let outgoing =
            Arc::new(Outgoing { stream, queue: Mutex::new(Queue::default()), arrived: Condvar::new() });
        let (writing, ending) = (Arc::clone(&outgoing), Arc::clone(&outgoing));
        let (write, end) = (move || writing.write_all(), move || ending.cut());
        let thread = supervisor.spawn_once("kith-send", Task::Send, write, end)?;
        Ok((outgoing, thread))
    }

    /// Sends a frame, or queues what the socket does not take now. False when the connection is over.
    pub fn send(&self, mut head: Vec<u8>, body: Option<&SharedBytes>) -> bool {
        let body = body.filter(|body| {
            let bytes = (***body).as_ref();
            if bytes.len() <= COPIED_BYTES {
                head.extend_from_slice(bytes);
            }
            bytes.len() > COPIED_BYTES
        });
        let mut queue = self.queue.lock();
        if queue.is_closed {
            return false;
        }
        let is_idle = queue.parts.is_empty() && !queue.is_writing;
        queue.bytes += head.len() + body.map_or(0, |body| (**body).as_ref().len());
        queue.parts.push_back(Part::Own(head));
        queue.parts.extend(body.map(|body| Part::Shared(Arc::clone(body))));
        if is_idle {
            self.send_now(&mut queue);
        }
        if !queue.parts.is_empty() {
            self.arrived.notify_one();
        }
        !queue.is_closed
    }

    /// Writes as much as the socket takes without waiting.
    fn send_now(&self, queue: &mut Queue) {
        use rustix::net::{SendFlags, send};
        while let Some(part) = queue.parts.front() {
            let left = &part.bytes()[queue.written..];
            match send(&self.stream, left, SendFlags::DONTWAIT) {
                Ok(sent) if sent < left.len() => queue.written += sent,
                Ok(_) => queue.finish_first(),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(_) => return self.close(queue),
            }
        }
    }

    /// Writes what is queued, part by part, until the connection is over.
    fn write_all(&self) {
        loop {
            let mut queue = self.queue.lock();
            while queue.parts.is_empty() && !queue.is_closed {
                self.arrived.wait(&mut queue);
            }
            let (Some(part), false) = (queue.parts.pop_front(), queue.is_closed) else { return };
            let written = std::mem::take(&mut queue.written);
            queue.is_writing = true;
            drop(queue);
            let done = (&self.stream).write_all(&part.bytes()[written..]);
            let mut queue = self.queue.lock();
            queue.is_writing = false;
            // It is 0 where the connection was cut meanwhile.
            queue.bytes = queue.bytes.saturating_sub(part.bytes().len());
            if done.is_err() {
                return self.close(&mut queue);
            }
        }
    }

    /// Bytes that are not written yet.
    pub fn unsent_bytes(&self) -> usize {
        self.queue.lock().bytes
    }

    /// Ends the connection: the other end, and whoever reads here, finds the end of the stream.
    pub fn cut(&self) {
        self.close(&mut self.queue.lock());
    }

    fn close(&self, queue: &mut Queue) {
        queue.is_closed = true;
        queue.parts.clear();
        queue.bytes = 0;
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        self.arrived.notify_one();
    }
}

impl Queue {
    fn finish_first(&mut self) {
        self.written = 0;
        if let Some(part) = self.parts.pop_front() {
            self.bytes -= part.bytes().len();
        }
    }
}
