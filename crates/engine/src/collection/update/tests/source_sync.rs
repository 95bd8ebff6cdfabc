//! The entries of a sync, and what is noted of it.

use super::*;

#[test]
fn a_note_has_all_of_an_answer_c20() {
    let synced =
        Synced { added: 1, updated: 2, unchanged: 3, deleted: 4, revision: Revision::of_bits(u128::MAX) };
    assert_eq!(Synced::read(&synced.note()), Some(synced));
    assert_eq!(Synced::read(&Skipped { at: 0, ..synced.note() }), None);
    assert_eq!(Synced::read(&Skipped { ids: Vec::new(), ..synced.note() }), None);
}

#[test]
fn a_part_is_taken_back_whole_and_texts_that_are_gone_take_no_memory_c20() {
    let entry = |id: u64, text: &str| SyncEntry {
        id: PointId::Num(id),
        hash: ContentHash::text(text).unwrap(),
        content: Some(Box::new(SyncContent {
            vectors: NamedVectors::default(),
            payload: text.as_bytes().into(),
            place: 0,
            texts: Texts::Gone,
        })),
    };
    let of = |list: &[(u64, &str)]| {
        let mut entries = SyncEntries::default();
        list.iter().for_each(|(id, text)| drop(entries.put(entry(*id, text))));
        entries
    };
    let mut entries = of(&[(1, "one"), (2, "two")]);
    let before = (format!("{entries:?}"), entries.bytes(), entries.contents());
    let part = entries.merge(of(&[(2, "another"), (3, "three")]));
    assert_eq!((entries.len(), entries.of(&PointId::Num(2)).map(|(place, _)| place)), (3, Some(1)));
    entries.take_back(part);
    assert_eq!((format!("{entries:?}"), entries.bytes(), entries.contents()), before);
    assert!(entries.of(&PointId::Num(3)).is_none());
}

#[test]
fn a_hash_is_a_string_or_an_integer_in_its_normal_form_c20() {
    let key = JsonPath::parse("a.h").unwrap();
    let of = |json: &str| ContentHash::of(json.as_bytes(), &key);
    assert_eq!(of(r#"{"a":{"h":"x\"é"}}"#), ContentHash::text("x\"é"));
    assert_eq!(of(r#"{"a":{"h":18446744073709551615}}"#), ContentHash::integer("18446744073709551615"));
    for none in [r#"{"a":{"h":1.0}}"#, r#"{"a":{"h":null}}"#, r#"{"a":{"h":["x"]}}"#, r#"{"h":"x"}"#] {
        assert_eq!(of(none), None, "{none}");
    }
    let hash = ContentHash::text("1").unwrap();
    assert!(hash.is_in(br#"{"a":{"h":"1"}}"#, &key) && !hash.is_in(br#"{"a":{"h":1}}"#, &key));
    assert_eq!(ContentHash::text(&"x".repeat(257)), None);
}
