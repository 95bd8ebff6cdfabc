//! Messages that are written and read back, and frames that are damaged.

use super::*;
use proptest::prelude::*;

fn sent(call: &CallFrame<'_>) -> Vec<u8> {
    [call_head(call).as_slice(), call.body].concat()
}

fn read_back(bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    assert!(read(&mut &bytes[..], &mut frame, MAX_FRAME_BYTES).expect("a frame"));
    frame
}

const CALL_SAMPLE: CallFrame<'static> = CallFrame {
    call: 7,
    operation: Operation::UpsertPoints,
    collection: "närmast",
    target: None,
    wait: true,
    strictness: Strictness::Lenient,
    gives_out_texts: true,
    packing: Packing { body: BodyForm::Packed, answer: true },
    timeout_ms: 60_000,
    answer_budget: Some(9),
    id: Some(OperationId::new(u128::MAX - 5)),
    first_sent: Some(Lsn::new(4)),
    body: b"{\"points\":[]}",
};

#[test]
fn every_message_round_trips() {
    let peer = Peer { version: 9, pid: 77, purpose: Purpose::Server };
    assert_eq!(ToOwner::decode(&read_back(&hello(peer))), Some(ToOwner::Hello(peer)));
    assert_eq!(ToOwner::decode(&read_back(&cancel(5))), Some(ToOwner::Cancel(5)));
    assert_eq!(ToOwner::decode(&read_back(&hand_over())), Some(ToOwner::HandOver));
    let bare = CallFrame {
        target: Some(""),
        wait: false,
        strictness: Strictness::Strict,
        gives_out_texts: false,
        packing: Packing::default(),
        answer_budget: None,
        id: None,
        first_sent: None,
        body: b"",
        ..CALL_SAMPLE
    };
    let arrow = CallFrame {
        packing: Packing { body: BodyForm::Arrow, answer: false },
        body: &[0xff; 8],
        ..CALL_SAMPLE
    };
    let lines = CallFrame { packing: Packing { body: BodyForm::Lines, answer: false }, ..CALL_SAMPLE };
    for call in [CALL_SAMPLE, bare, arrow, lines] {
        let bytes = sent(&call);
        assert_eq!(ToOwner::decode(&read_back(&bytes)), Some(ToOwner::Call(call)));
    }
    let position = Lsn::new(12);
    let welcomed = FromOwner::Welcome { owner: peer, position };
    assert_eq!(FromOwner::decode(&read_back(&welcome(peer, position))), Some(welcomed));
    let answered = FromOwner::Answer { call: 1, position, envelope: b"{}" };
    assert_eq!(FromOwner::decode(&read_back(&answer(1, position, b"{}"))), Some(answered));
    let refused = FromOwner::Refusal("no");
    assert_eq!(FromOwner::decode(&read_back(&refusal("no"))), Some(refused));
}

#[test]
fn an_error_of_the_owner_has_its_code_and_its_details() {
    let error = Error::CollectionNotFound("c\"d".to_string());
    let bytes = failure(3, Lsn::NONE, &error);
    let frame = read_back(&bytes);
    let Some(FromOwner::Failure { call: 3, error: relayed, .. }) = FromOwner::decode(&frame) else {
        panic!("no failure: {frame:?}");
    };
    assert_eq!((relayed.code(), relayed.details_json()), (error.code(), error.details_json()));
    assert_eq!(Error::relayed("later", b"{}").code(), "internal");
}

#[test]
fn an_answer_that_fits_no_frame_is_a_failure_c18() {
    // Never written to, so it takes no memory.
    let longest = vec![0_u8; MAX_ANSWER_BYTES + 1];
    let frame = read_back(&answer(3, Lsn::NONE, &longest));
    let Some(FromOwner::Failure { call: 3, error, .. }) = FromOwner::decode(&frame) else {
        panic!("no failure: {} bytes", frame.len());
    };
    let why = format!("an answer of {} bytes, where {MAX_ANSWER_BYTES} are the most", longest.len());
    assert_eq!((error.code(), error.details_json()), ("bad_request", Error::bad(why).details_json()));
}

#[test]
fn lengths_that_no_frame_has_are_refused() {
    for length in [0, 65, u32::MAX] {
        let bytes = [&length.to_le_bytes()[..], &[1; 100]].concat();
        let mut frame = Vec::new();
        let error = read(&mut &bytes[..], &mut frame, 64).expect_err("it is refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
    assert!(!read(&mut &b""[..], &mut Vec::new(), 64).expect("the end"));
    assert!(read(&mut &[9, 0, 0, 0, 1][..], &mut Vec::new(), 64).is_err());
}

proptest! {
    #[test]
    fn damaged_frames_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sent(&CALL_SAMPLE);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let bytes = &bytes[..cut.index(bytes.len())];
        let mut frame = Vec::new();
        let _ = read(&mut &bytes[..], &mut frame, MAX_FRAME_BYTES);
        let _ = (ToOwner::decode(&frame), FromOwner::decode(&frame));
        let _ = (ToOwner::decode(bytes), FromOwner::decode(bytes));
    }
}
