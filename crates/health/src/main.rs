//! `kithdb-health [FOLDER]`: whether the server of a data directory is ready (exit code 0) or not (1), asked through its
//! control socket. So it needs neither port nor TLS, and no Node is started for it.
//! Without an argument the folder is that of `KITHDB_DATA_DIR`, else `./kithdb-data`.

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let folder = std::env::args_os()
        .nth(1)
        .or_else(|| std::env::var_os("KITHDB_DATA_DIR"))
        .unwrap_or_else(|| "kithdb-data".into());
    match unix::ask(std::path::Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("kithdb-health: not ready: {reason}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("kithdb-health: there is no such socket on this system; use kithdb health");
    std::process::exit(2);
}

#[cfg(unix)]
mod unix {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    /// A server that does not answer within this time is not ready. Container systems wait about as long.
    const ANSWER: Duration = Duration::from_secs(4);
    /// The longest answer that is read, and the longest file with an address.
    const MAX_BYTES: u64 = 4096;
    const REQUEST: &[u8] = b"{\"kind\":\"health\"}\n";
    const READY: &str = "{\"health\":\"ready\"}";

    /// Asks the server of `folder`; says why it is not ready.
    pub fn ask(folder: &Path) -> Result<(), String> {
        let said = |error: std::io::Error| error.to_string();
        let path = address(folder)?;
        let mut socket =
            UnixStream::connect(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        socket.set_read_timeout(Some(ANSWER)).map_err(said)?;
        socket.set_write_timeout(Some(ANSWER)).map_err(said)?;
        socket.write_all(REQUEST).map_err(said)?;
        let mut answer = String::new();
        socket.take(MAX_BYTES).read_to_string(&mut answer).map_err(said)?;
        match answer.trim_end() {
            READY => Ok(()),
            other => Err(format!("the server says {other:?}")),
        }
    }

    /// The socket that the file `control` of a data directory names: relative to that, or absolute.
    fn address(folder: &Path) -> Result<PathBuf, String> {
        let path = folder.join("control");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        text.trim_end()
            .strip_prefix("{\"socket\":\"")
            .and_then(|rest| rest.strip_suffix("\"}"))
            // As the server spells it: a longer path may be too long for a socket, and a link to it not.
            .map(|name| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.into()).join(name))
            .ok_or_else(|| format!("{}: no address stands in it", path.display()))
    }
}
