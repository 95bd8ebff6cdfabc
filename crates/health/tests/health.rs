//! The health check against sockets that answer, answer something else, or are not there.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("kithdb-health-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the check on a folder whose server answers so.
fn check(name: &str, answer: Option<&'static str>) -> Output {
    let folder = Folder::new(name);
    let serving = answer.map(|answer| {
        let listener = UnixListener::bind(folder.0.join("control.sock")).unwrap();
        std::fs::write(folder.0.join("control"), "{\"socket\":\"control.sock\"}\n").unwrap();
        std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut request = String::new();
            BufReader::new(socket.try_clone().unwrap()).read_line(&mut request).unwrap();
            assert_eq!(request, "{\"kind\":\"health\"}\n");
            socket.write_all(answer.as_bytes()).unwrap();
        })
    });
    let ended = run(&folder.0);
    if let Some(serving) = serving {
        serving.join().unwrap();
    }
    ended
}

fn run(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kithdb-health")).env("KITHDB_DATA_DIR", folder).output().unwrap()
}

#[test]
fn a_server_that_is_ready_is_healthy() {
    let ended = check("ready", Some("{\"health\":\"ready\"}\n"));
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.stderr.is_empty());
}

#[test]
fn every_other_answer_is_not() {
    for (name, answer) in
        [("closed", "{\"health\":\"closed\"}\n"), ("error", "{\"error\":\"x\"}\n"), ("none", "")]
    {
        let ended = check(name, Some(answer));
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("the server says"));
    }
}

#[test]
fn neither_is_a_folder_without_a_server() {
    let ended = check("absent", None);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let left = Folder::new("left");
    std::fs::write(left.0.join("control"), "{\"socket\":\"control.sock\"}\n").unwrap();
    assert_eq!(run(&left.0).status.code(), Some(1));
    std::fs::write(left.0.join("control"), "damaged").unwrap();
    assert!(String::from_utf8_lossy(&run(&left.0).stderr).contains("no address"));
}
