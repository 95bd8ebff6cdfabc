//! A listening socket with a descriptor for each event loop.
//!
//! Node cannot duplicate a descriptor, and two handles that close the same one would, at the second time, close a file that has
//! been opened meanwhile. So the socket is made here.

use napi_derive::napi;

/// A socket that listens, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct Listening {
    /// Descriptors of the one socket. Each is closed by whoever gets it.
    pub descriptors: Vec<i32>,
    /// The number of the error of the system.
    pub error: Option<i32>,
}

/// Listens on an address, and gives `count` descriptors of the socket. They are not inherited by other processes.
#[cfg(unix)]
#[napi(catch_unwind)]
pub fn listen(address: String, port: u16, count: u32) -> napi::Result<Listening> {
    use std::net::{IpAddr, TcpListener};
    use std::os::fd::IntoRawFd;
    let address: IpAddr =
        address.parse().map_err(|_| napi::Error::from_reason(format!("{address} is no IP address")))?;
    let listened = || -> std::io::Result<Vec<TcpListener>> {
        let first = TcpListener::bind((address, port))?;
        let mut all = (1..count).map(|_| first.try_clone()).collect::<std::io::Result<Vec<_>>>()?;
        all.push(first);
        Ok(all)
    };
    Ok(match listened() {
        Ok(all) => {
            Listening { descriptors: all.into_iter().map(IntoRawFd::into_raw_fd).collect(), error: None }
        }
        Err(error) => Listening { error: error.raw_os_error(), ..Listening::default() },
    })
}

/// There are no descriptors of sockets here.
#[cfg(not(unix))]
#[napi(catch_unwind)]
pub fn listen(_address: String, _port: u16, _count: u32) -> Listening {
    Listening::default()
}
