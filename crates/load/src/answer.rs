//! The end of an HTTP/1.1 answer, found without keeping its body.

use std::time::Duration;

/// The longest head of an answer.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// What a client needs to know of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status code.
    pub status: u16,
    /// Whether the connection can send another request.
    pub keeps_open: bool,
    /// How long the server asks a refused client to wait.
    pub retry_after: Option<Duration>,
}

/// Reads one answer after another from the bytes of a connection.
#[derive(Default)]
pub struct AnswerReader {
    head: Vec<u8>,
    body: Option<(Answer, Body)>,
}

/// What is left of a body.
enum Body {
    Bytes(u64),
    /// The line of a chunk's size, as far as it has come.
    ChunkSize(Vec<u8>),
    /// The bytes of a chunk with the line break behind them.
    Chunk(u64),
    /// The line of the trailer that is being read, by its length.
    Trailer(usize),
    UntilClosed,
}

impl AnswerReader {
    /// Takes the bytes that have arrived; the answer when they complete it. Bytes behind an answer are dropped: a client has
    /// one request under way.
    ///
    /// # Errors
    /// What is wrong, when the bytes are no answer of HTTP/1.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Answer>, String> {
        loop {
            match &mut self.body {
                None => match self.take_head(bytes)? {
                    Some(rest) => bytes = rest,
                    None => return Ok(None),
                },
                Some((answer, body)) => {
                    let answer = *answer;
                    if !body.take(&mut bytes)? {
                        return Ok(None);
                    }
                    self.body = None;
                    return Ok(Some(answer));
                }
            }
        }
    }

    /// The answer that ends because the connection does, if its head said that it would.
    pub fn closed(&mut self) -> Option<Answer> {
        self.head.clear();
        match self.body.take() {
            Some((answer, Body::UntilClosed)) => Some(answer),
            _ => None,
        }
    }

    /// Adds to the head; what follows it, once it is complete. An interim answer (1xx) is skipped.
    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, String> {
        let known = self.head.len();
        self.head.extend_from_slice(bytes);
        // The end may begin in what came before.
        let from = known.saturating_sub(3);
        let Some(at) = self.head[from..].windows(4).position(|window| window == b"\r\n\r\n") else {
            return match self.head.len() {
                0..=MAX_HEAD_BYTES => Ok(None),
                length => Err(format!("a head of {length} bytes without an end")),
            };
        };
        let end = from + at;
        let (answer, body) = read_head(&self.head[..end])?;
        self.head.clear();
        self.body = (answer.status >= 200).then_some((answer, body));
        Ok(Some(&bytes[end + 4 - known..]))
    }
}

impl Body {
    /// Drops its bytes from the front of `bytes`; true when it has ended.
    fn take(&mut self, bytes: &mut &[u8]) -> Result<bool, String> {
        loop {
            match self {
                Body::Bytes(left) => {
                    skip(bytes, left);
                    return Ok(*left == 0);
                }
                Body::UntilClosed => return Ok(false),
                Body::Chunk(left) => {
                    skip(bytes, left);
                    if *left > 0 {
                        return Ok(false);
                    }
                    *self = Body::ChunkSize(Vec::new());
                }
                Body::ChunkSize(line) => {
                    let Some((byte, rest)) = bytes.split_first() else { return Ok(false) };
                    *bytes = rest;
                    match byte {
                        b'\n' => *self = Body::after_size(line)?,
                        _ if line.len() == 1024 => return Err("the size of a chunk has no end".to_string()),
                        _ => line.push(*byte),
                    }
                }
                Body::Trailer(length) => {
                    let Some((byte, rest)) = bytes.split_first() else { return Ok(false) };
                    *bytes = rest;
                    match byte {
                        b'\n' if *length == 0 => return Ok(true),
                        b'\n' => *length = 0,
                        b'\r' => {}
                        _ => *length += 1,
                    }
                }
            }
        }
    }

    fn after_size(line: &[u8]) -> Result<Body, String> {
        let text = String::from_utf8_lossy(line);
        let size = text.split(';').next().unwrap_or_default().trim();
        match u64::from_str_radix(size, 16) {
            Ok(0) => Ok(Body::Trailer(0)),
            Ok(size) => Ok(Body::Chunk(size.saturating_add(2))),
            Err(_) => Err(format!("a chunk of the size {size:?}")),
        }
    }
}

fn skip(bytes: &mut &[u8], left: &mut u64) {
    let taken = (*left).min(bytes.len() as u64);
    *left -= taken;
    *bytes = &bytes[taken as usize..];
}

fn read_head(head: &[u8]) -> Result<(Answer, Body), String> {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let status = first.strip_prefix("http/1.").and_then(|rest| rest.get(2..5)?.parse().ok());
    let status: u16 = status.ok_or_else(|| format!("an answer that begins with {first:?}"))?;
    let mut answer = Answer { status, keeps_open: !first.starts_with("http/1.0"), retry_after: None };
    let mut body = None;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name {
            "content-length" if body.is_none() => {
                let length = value.parse().map_err(|_| format!("Content-Length: {value}"))?;
                body = Some(Body::Bytes(length));
            }
            "transfer-encoding" if value.ends_with("chunked") => body = Some(Body::ChunkSize(Vec::new())),
            "connection" => answer.keeps_open = value != "close",
            "retry-after" => answer.retry_after = value.parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    if matches!(status, 204 | 304) {
        body = Some(Body::Bytes(0));
    }
    let body = body.unwrap_or_else(|| {
        answer.keeps_open = false;
        Body::UntilClosed
    });
    Ok((answer, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers that a connection gives when its bytes come in pieces of this size.
    fn answers(bytes: &[u8], piece: usize) -> Vec<Answer> {
        let mut reader = AnswerReader::default();
        let pieces = bytes.chunks(piece);
        pieces.filter_map(|piece| reader.feed(piece).expect("an answer")).collect()
    }

    fn answer(status: u16) -> Answer {
        Answer { status, keeps_open: true, retry_after: None }
    }

    #[test]
    fn an_answer_ends_after_its_length_however_its_bytes_are_cut() {
        let first = &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..];
        let second = &b"HTTP/1.1 204 No Content\r\n\r\n"[..];
        let mut reader = AnswerReader::default();
        for piece in 1..=first.len() {
            for (bytes, status) in [(first, 200), (second, 204)] {
                let answers: Vec<_> =
                    bytes.chunks(piece).filter_map(|piece| reader.feed(piece).expect("an answer")).collect();
                assert_eq!(answers, [answer(status)], "pieces of {piece}");
            }
        }
    }

    #[test]
    fn a_chunked_answer_ends_after_its_trailer() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;x=y\r\nabc\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nA: b\r\n\r\n";
        for piece in [1, 2, 7] {
            assert_eq!(answers(bytes, piece), [answer(200)], "pieces of {piece}");
        }
        let mut reader = AnswerReader::default();
        assert_eq!(reader.feed(&bytes[..bytes.len() - 1]), Ok(None));
    }

    #[test]
    fn an_interim_answer_is_skipped() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
        let refused = Answer { retry_after: Some(Duration::from_secs(2)), ..answer(429) };
        assert_eq!(AnswerReader::default().feed(bytes), Ok(Some(refused)));
    }

    #[test]
    fn a_connection_that_closes_is_said() {
        let bytes = b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx";
        let closing = Answer { keeps_open: false, ..answer(503) };
        assert_eq!(AnswerReader::default().feed(bytes), Ok(Some(closing)));
        let mut reader = AnswerReader::default();
        assert_eq!(reader.feed(b"HTTP/1.0 200 OK\r\n\r\nall of it"), Ok(None));
        assert_eq!(reader.closed(), Some(Answer { keeps_open: false, ..answer(200) }));
        assert_eq!(reader.closed(), None);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for bytes in [
            &b"SSH-2.0-OpenSSH\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            &[b'a'; MAX_HEAD_BYTES + 1],
        ] {
            assert!(AnswerReader::default().feed(bytes).is_err());
        }
    }
}
