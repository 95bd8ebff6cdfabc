//! Frames that come from an attached process. Of the next one the kind can be seen before it is read.

use super::frame;
use std::io::{self, BufReader, ErrorKind, Read};
use std::os::unix::net::UnixStream;

/// Bytes that are read from the socket at a time.
const READ_BYTES: usize = 64 << 10;
/// The length and the kind of a frame.
const HEAD_BYTES: usize = 5;

/// The receiving half of a connection.
pub struct Incoming<'a> {
    reader: BufReader<Socket<'a>>,
    /// What was read of the next frame: the first `got` bytes.
    head: [u8; HEAD_BYTES],
    got: usize,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Less than the head of a frame has come.
    Nothing,
    Call,
    /// A frame that is no call.
    Other,
    /// The connection is over.
    End,
}

impl<'a> Incoming<'a> {
    /// What comes from a socket.
    pub fn new(stream: &'a UnixStream) -> Incoming<'a> {
        let socket = Socket { stream, waits: true };
        Incoming { reader: BufReader::with_capacity(READ_BYTES, socket), head: [0; HEAD_BYTES], got: 0 }
    }

    /// Waits for a frame and reads it, as [`frame::read`] does.
    ///
    /// # Errors
    /// Those of [`frame::read`].
    pub fn read(&mut self, frame: &mut Vec<u8>, most: usize) -> io::Result<bool> {
        let head: &[u8] = &self.head[..std::mem::take(&mut self.got)];
        frame::read(&mut head.chain(&mut self.reader), frame, most)
    }

    /// What comes next, without waiting for it.
    ///
    /// # Errors
    /// The error of the socket.
    pub fn peek(&mut self) -> io::Result<Next> {
        self.reader.get_mut().waits = false;
        let next = self.peek_at_once();
        self.reader.get_mut().waits = true;
        next
    }

    fn peek_at_once(&mut self) -> io::Result<Next> {
        while self.got < HEAD_BYTES {
            match self.reader.read(&mut self.head[self.got..]) {
                Ok(0) => return Ok(Next::End),
                Ok(bytes) => self.got += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Next::Nothing),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(if self.head[HEAD_BYTES - 1] == frame::CALL { Next::Call } else { Next::Other })
    }
}

/// A socket that waits for bytes or does not. Its mode is not changed for that: the sending half has the same one.
struct Socket<'a> {
    stream: &'a UnixStream,
    waits: bool,
}

impl Read for Socket<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        use rustix::net::{RecvFlags, recv};
        if self.waits {
            return self.stream.read(bytes);
        }
        let (read, _) = recv(self.stream, bytes, RecvFlags::DONTWAIT)?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_kind_of_a_frame_is_seen_before_the_frame_is_read() {
        let (ours, mut theirs) = UnixStream::pair().expect("sockets");
        let mut incoming = Incoming::new(&ours);
        let cancel = frame::cancel(7);
        let mut next = |sent: &[u8]| {
            theirs.write_all(sent).expect("it is sent");
            incoming.peek().expect("a socket")
        };
        assert_eq!(next(b""), Next::Nothing);
        assert_eq!(next(&cancel[..3]), Next::Nothing);
        assert_eq!(next(&cancel[3..6]), Next::Other);
        assert_eq!(next(&cancel[6..]), Next::Other);
        assert_eq!(next(&[1, 0, 0, 0, frame::CALL]), Next::Other, "the first one is not read yet");
        let mut read = Vec::new();
        assert!(incoming.read(&mut read, 64).expect("a frame"));
        assert_eq!(read, cancel[4..]);
        assert_eq!(incoming.peek().expect("a socket"), Next::Call);
        assert!(incoming.read(&mut read, 64).expect("a frame"));
        assert_eq!(read, [frame::CALL]);
        drop(theirs);
        assert_eq!(incoming.peek().expect("a socket"), Next::End);
        assert!(!incoming.read(&mut read, 64).expect("the end"));
    }
}
