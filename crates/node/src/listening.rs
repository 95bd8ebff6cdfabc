//! Listening sockets for the event loops, given to them as descriptors.
//!
//! On Linux they are sockets of their own on the same address (`SO_REUSEPORT`), and the system spreads connections over them
//! by a hash of the addresses and ports. Elsewhere that option does not spread them, and there is one socket with duplicates
//! of its descriptor: two handles that close the same one would, at the second time, close a file that has been
//! opened meanwhile.

use napi_derive::napi;

/// Sockets that listen, or why there are none.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct Listening {
    /// As many as were asked for. Each is closed by whoever gets it.
    pub descriptors: Vec<i32>,
    /// The number of the error of the system.
    pub error: Option<i32>,
}

/// Listens on an address with `count` descriptors, which other processes do not inherit.
#[cfg(unix)]
#[napi(catch_unwind)]
pub fn listen(address: String, port: u16, count: u32) -> napi::Result<Listening> {
    use std::net::{IpAddr, SocketAddr};
    use std::os::fd::IntoRawFd;
    let address: IpAddr =
        address.parse().map_err(|_| napi::Error::from_reason(format!("{address} is no IP address")))?;
    Ok(match listened(SocketAddr::new(address, port), count) {
        Ok(all) => {
            Listening { descriptors: all.into_iter().map(IntoRawFd::into_raw_fd).collect(), error: None }
        }
        Err(error) => Listening { error: error.raw_os_error(), ..Listening::default() },
    })
}

/// So many sockets of the same address.
#[cfg(target_os = "linux")]
fn listened(address: std::net::SocketAddr, count: u32) -> std::io::Result<Vec<socket2::Socket>> {
    let bound = |address: std::net::SocketAddr, is_shared: bool| {
        let socket =
            socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(is_shared)?;
        socket.bind(&address.into())?;
        Ok::<_, std::io::Error>(socket)
    };
    // Another server with several event loops would share its port. A socket that shares with nobody is refused where any
    // server listens. Where no port is asked for, the system takes one that nobody has.
    if address.port() != 0 {
        drop(bound(address, false)?);
    }
    let first = bound(address, true)?;
    let address = first.local_addr()?.as_socket().unwrap_or(address);
    let mut all = vec![first];
    for _ in 1..count {
        all.push(bound(address, true)?);
    }
    // Once all are bound: a connection is given to one of those that listen when it comes.
    all.iter().try_for_each(|socket| socket.listen(BACKLOG))?;
    Ok(all)
}

/// Connections that wait until they are accepted, until Node says how many. The system may allow fewer.
#[cfg(target_os = "linux")]
const BACKLOG: i32 = 4096;

/// So many descriptors of the same socket.
#[cfg(all(unix, not(target_os = "linux")))]
fn listened(address: std::net::SocketAddr, count: u32) -> std::io::Result<Vec<std::net::TcpListener>> {
    let first = std::net::TcpListener::bind(address)?;
    let mut all = (1..count).map(|_| first.try_clone()).collect::<std::io::Result<Vec<_>>>()?;
    all.push(first);
    Ok(all)
}

/// There are no descriptors of sockets here.
#[cfg(not(unix))]
#[napi(catch_unwind)]
pub fn listen(_address: String, _port: u16, _count: u32) -> Listening {
    Listening::default()
}
