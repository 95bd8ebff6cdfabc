//! The corpus of malformed bodies, which the server's tests send over HTTP too.

use super::{message, parse};
use crate::limits::Limits;
use serde_json::Value;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/fixtures/malformed-bodies.json");

fn body(entry: &Value) -> Vec<u8> {
    if let Some(text) = entry["body"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = entry["body_base64"].as_str() {
        return base64(text);
    }
    let made = &entry["generated"];
    let part = |name: &str| made[name].as_str().unwrap_or_default().to_string();
    let count = usize::try_from(made["count"].as_u64().unwrap()).unwrap();
    [part("prefix"), part("repeat").repeat(count), part("suffix")].concat().into_bytes()
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut bits, mut held) = (0u32, 0u32);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|known| *known == byte).unwrap();
        bits = (bits << 6) | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out
}

#[test]
fn every_malformed_body_is_refused_with_its_place_c1_4_c1_11() {
    let corpus: Value = serde_json::from_str(&std::fs::read_to_string(CORPUS).unwrap()).unwrap();
    let entries = corpus["bodies"].as_array().unwrap();
    assert!(entries.len() >= 150);
    let mut wrong = Vec::new();
    for entry in entries {
        let operation = entry["operation"].as_str().unwrap();
        let note = entry["note"].as_str().unwrap();
        let parsed = parse(operation, &body(entry), &Limits::default());
        let needs_collection = entry["needs_collection"].as_bool().unwrap_or(false);
        let expected = &entry["expected"];
        let fine = match &parsed {
            Ok(_) => needs_collection,
            Err(error) => {
                !needs_collection
                    && error.code() == expected["code"]
                    && message(error).contains(expected["contains"].as_str().unwrap())
                    && message(error).len() < 1_000
            }
        };
        if !fine {
            let got = parsed.map_or_else(|error| error.to_string(), |_| "accepted".into());
            wrong.push(format!("{operation}, {note}: expected {expected}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
