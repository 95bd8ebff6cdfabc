//! Runs of the load generator against a server of a few lines.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The largest answer of the server: more than the buffers of a connection take.
const LARGE_BYTES: usize = 64 << 20;

/// What the server has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    bytes: AtomicU64,
    requests: AtomicU64,
}

/// Answers by the path of a request.
struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let seen = Arc::new(Seen::default());
        let counts = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, counts) = (stream.expect("a connection"), Arc::clone(&counts));
                counts.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || drop(serve(stream, &counts)));
            }
        });
        Server { address, seen }
    }

    /// Runs a plan to its end; its report.
    fn run(&self, path: &str, seconds: f64, traffic: Value) -> Value {
        let requests = match path {
            "" => json!([]),
            _ => json!([{"label": "a", "method": "POST", "path": path, "body": "{}"}]),
        };
        let plan = json!({
            "address": self.address.to_string(), "host": "h", "seconds": seconds,
            "requests": requests, "traffic": traffic,
        });
        run(&plan)
    }
}

/// Runs a plan; its report.
fn run(plan: &Value) -> Value {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("kithdb-load-{}-{}.json", std::process::id(), RUNS.fetch_add(1, Ordering::SeqCst));
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, plan.to_string()).expect("a plan is written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kithdb-load"))
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the load generator starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let started = lines.next().expect("a line").expect("text");
    assert_eq!(started, r#"{"started":true}"#);
    if plan["seconds"].is_null() {
        drop(child.stdin.take());
    }
    let report = lines.next().expect("a report").expect("text");
    assert!(child.wait().expect("its end").success());
    std::fs::remove_file(&file).expect("the plan is there");
    serde_json::from_str(&report).expect("JSON")
}

fn serve(stream: TcpStream, seen: &Seen) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut path, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            seen.bytes.fetch_add(line.len() as u64, Ordering::SeqCst);
            let line = line.trim_end();
            match line.strip_prefix("Content-Length: ") {
                Some(value) => length = value.parse().expect("a length"),
                None if line.starts_with("POST ") => {
                    path = line.split(' ').nth(1).expect("a path").to_string()
                }
                None if line.is_empty() => break,
                None => {}
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        seen.requests.fetch_add(1, Ordering::SeqCst);
        match path.as_str() {
            "/ok" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")?,
            "/refused" => stream.write_all(
                b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
            )?,
            "/large" => {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {LARGE_BYTES}\r\n\r\n")?;
                stream.write_all(&vec![b' '; LARGE_BYTES])?;
            }
            "/closed" => return Ok(()),
            // The thread that waits for the answer waits until the run ends.
            _ => drop(reader.read(&mut [0])?),
        }
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a count, and not {value}"))
}

#[test]
fn a_closed_loop_counts_what_the_server_has_answered() {
    let server = Server::start();
    let report = server.run("/ok", 0.5, json!({"closed": {"connections": 3}}));
    let (answered, unanswered) =
        (count(&report["all"]["statuses"]["200"]["count"]), count(&report["all"]["unanswered"]));
    assert!(answered > 0, "{report}");
    let served = server.seen.requests.load(Ordering::SeqCst);
    assert!(answered <= served && served <= answered + unanswered, "{served} served: {report}");
    assert_eq!(report["connections"]["opened"], 3);
    assert_eq!(report["labels"]["a"]["waited"]["count"], answered + unanswered);
}

#[test]
fn requests_that_a_stalled_server_delays_have_waited_since_they_were_due() {
    let server = Server::start();
    let report = server.run("/never", 0.5, json!({"open": {"connections": 2, "per_second": 100.0}}));
    let unsent = count(&report["unsent"]);
    assert!(unsent > 2, "{report}");
    assert_eq!(report["all"]["waited"]["sent"], 2);
    assert_eq!(report["all"]["waited"]["count"], 2 + unsent);
    assert_eq!(report["all"]["unanswered"], 2 + unsent);
    let probe = server.run("/never", 0.5, json!({"probe": {"per_second": 100.0}}));
    assert_eq!(probe["all"]["waited"]["sent"], 1);
    assert_eq!(probe["all"]["waited"]["count"], 1 + count(&probe["unsent"]));
    assert!(count(&probe["unsent"]) > 2, "{probe}");
}

#[test]
fn an_open_loop_sends_at_its_rate_while_the_server_answers() {
    let server = Server::start();
    let report = server.run("/ok", 1.0, json!({"open": {"connections": 4, "per_second": 50.0}}));
    let all = &report["all"];
    assert!(count(&all["waited"]["count"]) >= 50, "{report}");
    assert!(count(&all["statuses"]["200"]["count"]) > 0, "{report}");
}

#[test]
fn a_refused_client_waits_only_where_it_is_told_to() {
    let server = Server::start();
    let patient = json!({"closed": {"connections": 2, "waits_when_refused": true}});
    let report = server.run("/refused", 0.5, patient);
    assert_eq!(report["all"]["statuses"]["429"]["count"], 2);
    let report = server.run("/refused", 0.5, json!({"closed": {"connections": 2}}));
    assert!(count(&report["all"]["statuses"]["429"]["count"]) > 2, "{report}");
}

#[test]
fn a_slow_body_comes_to_its_declared_length() {
    let server = Server::start();
    let traffic = json!({"trickle": {"connections": 2, "declared_bytes": 300, "bytes_per_second": 1000}});
    let report = server.run("/ok", 3.0, traffic);
    let answered = count(&report["all"]["statuses"]["200"]["count"]);
    assert!(answered >= 2, "{report}");
    assert!(count(&report["sent_bytes"]) >= 300 * answered, "{report}");
}

#[test]
fn silent_connections_stay_until_the_input_ends() {
    let server = Server::start();
    let address = server.address.to_string();
    let report = run(&json!({"address": address, "host": "h", "traffic": {"silent": {"connections": 5}}}));
    assert_eq!(report["connections"]["opened"], 5);
    assert_eq!(report["connections"]["open_at_end"], 5);
    assert_eq!(report["sent_bytes"], 0);
    assert_eq!(server.seen.bytes.load(Ordering::SeqCst), 0);
}

#[test]
fn an_answer_that_is_not_read_stays_unanswered() {
    let server = Server::start();
    let report = server.run("/large", 0.5, json!({"closed": {"connections": 2, "reads": false}}));
    assert_eq!(report["received_bytes"], 0);
    assert_eq!(report["all"]["unanswered"], 2);
    let report = server.run("/large", 0.5, json!({"closed": {"connections": 1}}));
    assert!(count(&report["received_bytes"]) > 0, "{report}");
}

#[test]
fn a_probe_makes_a_new_connection_when_it_is_told_to() {
    let server = Server::start();
    let traffic = json!({"probe": {"per_second": 50.0, "requests_per_connection": 1, "source": "127.0.0.1"}});
    let report = server.run("/ok", 0.5, traffic);
    let answered = count(&report["all"]["statuses"]["200"]["count"]);
    assert!(answered > 1, "{report}");
    assert_eq!(count(&report["connections"]["opened"]), server.seen.connections.load(Ordering::SeqCst));
    assert!(count(&report["connections"]["opened"]) >= answered, "{report}");
}

#[test]
fn a_server_that_closes_and_one_that_is_not_there_are_failures() {
    let server = Server::start();
    for traffic in [json!({"closed": {"connections": 1}}), json!({"probe": {"per_second": 50.0}})] {
        let report = server.run("/closed", 0.5, traffic);
        assert!(count(&report["all"]["failed"]) > 1, "{report}");
        assert_eq!(report["all"]["statuses"], json!({}));
    }
    let nowhere = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("its address")
    };
    let report = Server { address: nowhere, seen: Arc::default() }.run(
        "/ok",
        0.5,
        json!({"closed": {"connections": 1}}),
    );
    assert!(count(&report["connections"]["refused"]) > 1, "{report}");
    assert!(count(&report["all"]["failed"]) > 1, "{report}");
}
