//! One folder, many processes: the owner of a data directory has the engine, others attach to it through a socket and use
//! the same interface (C18). `docs/embedding.md` has the design.
//!
//! [`SharedFolder`] is what a process opens. It is the owner or attached, and changes by itself: `member` says what it is at
//! the moment. `frame` has the messages, `outgoing` sends them without ever blocking the caller, `incoming` reads those that
//! come to the owner. The owner's side is `owner`, with the engine, `server`, with all connections, and `connection`, one of
//! them; that of an attached process is `attachment`. `address` says where the socket is and who holds the folder, `takeover`
//! how a process gets in, `calls` keeps what waits for an owner, `repeated` says how writes fail that are sent again. Where
//! there are no Unix sockets a folder has one process (`alone`). `size` bounds requests in all of them.

#[cfg(unix)]
mod address;
#[cfg(not(unix))]
mod alone;
#[cfg(unix)]
mod attachment;
#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod folder;
#[cfg_attr(not(unix), allow(dead_code, reason = "without sockets the purpose and the sizes alone are used"))]
mod frame;
#[cfg(unix)]
mod incoming;
#[cfg(unix)]
mod member;
mod membership;
#[cfg(unix)]
mod outgoing;
#[cfg(unix)]
mod owner;
#[cfg(unix)]
mod repeated;
#[cfg(unix)]
mod server;
mod size;
#[cfg(unix)]
mod takeover;

#[cfg(not(unix))]
pub use alone::SharedFolder;
#[cfg(unix)]
pub use folder::SharedFolder;
pub use frame::{PROTOCOL_VERSION, Purpose};
pub use membership::{Membership, NotOpened, OpenEngine};
