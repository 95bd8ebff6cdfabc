//! Calls that are refused or given up in this process.

use super::*;
use crate::attach::frame::{PROTOCOL_VERSION, Peer};
use crate::catalog::{Mode, OpenError, lock_directory};
use crate::deadline::Cancellation;
use crate::engine::{Engine, Operation, Options, Request};
use crate::storage::SimDisk;
use crate::types::Lsn;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

/// A body that calls share.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

fn member() -> Arc<Member> {
    let membership =
        Membership { purpose: Purpose::Embedded, exclusive: false, read_only: false, timeout: LIMIT };
    Arc::new(Member::new(FolderEntry {
        path: PathBuf::new(),
        membership,
        open: Box::new(|_, _, _| Err(OpenError::Threads(io::Error::other("no test opens it")))),
        supervisor: Arc::default(),
    }))
}

fn upsert() -> Request {
    Request::new(Operation::UpsertPoints, "c", b"{}".to_vec())
}

/// The code with which a call fails at once; none where it waits.
fn failed(make: impl FnOnce(Reply)) -> Option<&'static str> {
    let (send, receive) = mpsc::channel();
    make(Box::new(move |result| drop(send.send(result))));
    let result = receive.try_recv().ok()?;
    Some(result.expect_err("it is refused").code())
}

/// An owner that greets and reads no call: the connection to it, and its end of that.
fn stopped_owner(folder: &Path) -> (Attachment, UnixStream) {
    let socket = folder.join("s");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let greeting = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        assert!(frame::read(&mut stream, &mut Vec::new(), frame::MAX_HELLO_BYTES).expect("a hello"));
        let me = Peer { version: PROTOCOL_VERSION, pid: 7, purpose: Purpose::Embedded };
        stream.write_all(&frame::welcome(me, Lsn::NONE)).expect("it is sent");
        stream
    });
    let connected = Attachment::connect(&socket, Purpose::Embedded, LIMIT, &Arc::default());
    let (attachment, _) = connected.expect("it greets");
    (attachment, greeting.join().expect("it greets"))
}

#[test]
fn bodies_of_calls_that_were_given_up_count_until_they_are_written_c1_5() {
    let dir = tempfile::tempdir().expect("a folder");
    let member = member();
    let (attachment, _end) = stopped_owner(dir.path());
    member.state.lock().role = Role::Attached(attachment);
    let body = Arc::new(vec![0; 64 << 20]);
    let submit = || {
        let call = Call::new(Request { body: Box::new(Shared(Arc::clone(&body))), ..upsert() });
        failed(|reply| member.submit(call, reply))
    };
    for _ in 0..15 {
        assert_eq!(submit(), None);
        assert_eq!(member.state.lock().calls.take_all().count(), 1, "it is given up");
    }
    assert_eq!(submit(), Some("overloaded"), "1 GiB, and the heads of the frames");
    if let Role::Attached(to) = &member.state.lock().role {
        to.outgoing().cut();
    }
    assert_eq!(submit(), None);
}

#[test]
fn the_outcome_of_a_write_that_was_sent_and_is_given_up_here_is_unknown_c1_7() {
    let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
    let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
    let lock = lock_directory(&SimDisk::new()).expect("nobody has it");
    let owner = Arc::new(Owner::new(Arc::new(engine), lock));
    let member = member();
    for (is_cancelled, was_sent, expected) in [
        (false, false, "timeout"),
        (true, false, "cancelled"),
        (false, true, "outcome_unknown"),
        (true, true, "outcome_unknown"),
    ] {
        let cancellation = Cancellation::default();
        if is_cancelled {
            cancellation.cancel();
        }
        let timeout = Some(if is_cancelled { LIMIT } else { Duration::ZERO });
        let mut call = Call::new(Request { timeout, cancellation, ..upsert() });
        if was_sent {
            call.frame(1, Lsn::NONE);
        }
        assert_eq!(failed(|reply| member.run_here(&owner, call, reply)), Some(expected));
    }
}
