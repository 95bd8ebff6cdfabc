//! One edit of the payloads of many points.

use crate::change::PayloadEdit;
use crate::deadline::Pace;
use crate::payload::Removal;
use crate::payload::edit::{self, EditError};

/// An edit, prepared for as many documents as there are.
pub struct Editing<'e> {
    /// What is done.
    pub edit: &'e PayloadEdit,
    /// The compiled removal of an edit which removes paths.
    removal: Option<Removal<'e>>,
}

impl<'e> Editing<'e> {
    /// Prepares an edit.
    pub fn new(edit: &'e PayloadEdit) -> Editing<'e> {
        let removal = match edit {
            PayloadEdit::Remove(paths) => Some(Removal::new(paths)),
            _ => None,
        };
        Editing { edit, removal }
    }

    /// The payload after the edit; `None` when it is as before.
    ///
    /// # Errors
    /// [`EditError`].
    pub fn apply(&self, document: &[u8], pace: &mut Pace<'_>) -> Result<Option<Vec<u8>>, EditError> {
        if let Some(removal) = &self.removal {
            return Ok(removal.apply(document, pace)?);
        }
        self.result(document, pace).map(Some)
    }

    /// Bytes that a payload has at least after the edit, whatever it was before: an edit of any document leaves what the
    /// same edit makes of an empty one.
    pub fn least_bytes(&self) -> u64 {
        self.result(b"{}", &mut Pace::without_deadline()).map_or(0, |result| result.len() as u64)
    }

    fn result(&self, document: &[u8], pace: &mut Pace<'_>) -> Result<Vec<u8>, EditError> {
        match self.edit {
            PayloadEdit::Merge { patch, at: None } => edit::merge(document, patch),
            PayloadEdit::Merge { patch, at: Some(path) } => edit::merge_at(document, path, patch, pace),
            PayloadEdit::Overwrite { payload, at: None } => Ok(payload.to_vec()),
            PayloadEdit::Overwrite { payload, at: Some(path) } => {
                edit::overwrite_at(document, path, payload, pace)
            }
            PayloadEdit::Remove(_) | PayloadEdit::Clear => Ok(b"{}".to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::config::tests::config_of;
    use crate::deadline::Deadline;
    use crate::payload::JsonPath;
    use crate::payload::edit::tests::{any_json, any_object};
    use crate::state::{Allowance, Head, Unapplied};
    use crate::types::{OpNumber, PointId};
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    const DOCUMENT: &str = r#"{"a":"0123456789"}"#;

    fn deadline(allowed: Duration) -> Deadline {
        Deadline::new(Instant::now(), allowed, "Set payload")
    }

    /// Points 0, 1 and 2 with the same payload.
    fn head() -> Head {
        let mut head = Head::new(config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#), 1 << 12);
        for id in 0..3 {
            let payload = DOCUMENT.as_bytes().into();
            head.apply(OpNumber::FIRST, &Change::Put { id: PointId::Num(id), vectors: vec![], payload })
                .unwrap();
        }
        head.op = OpNumber::FIRST;
        head
    }

    fn payloads(head: &Head) -> Vec<String> {
        let bytes = |id| head.state.point(&PointId::Num(id)).unwrap().1.document().to_vec();
        (0..3).map(|id| String::from_utf8(bytes(id)).unwrap()).collect()
    }

    fn edit(
        head: &mut Head,
        edit: PayloadEdit,
        ids: &[u64],
        allowance: &mut Allowance<'_>,
    ) -> Result<(), Unapplied> {
        let ids = ids.iter().copied().map(PointId::Num).collect();
        head.apply_within(OpNumber::new(2), &Change::EditPayload { edit, ids }, allowance)
    }

    fn overwrite(bytes: usize) -> PayloadEdit {
        PayloadEdit::Overwrite {
            payload: format!(r#"{{"b":"{}"}}"#, "x".repeat(bytes - 8)).into_bytes().into(),
            at: None,
        }
    }

    #[test]
    fn an_edit_looks_at_the_deadline_and_one_of_the_log_does_not_c1_10() {
        let mut head = head();
        let paths = vec![JsonPath::parse("a").unwrap()];
        let late = deadline(Duration::ZERO);
        for by in [PayloadEdit::Remove(paths.clone()), PayloadEdit::Clear, overwrite(20)] {
            let given_up = edit(&mut head, by, &[0, 1, 2], &mut Allowance::new(1 << 30, u64::MAX, &late));
            assert!(matches!(given_up, Err(Unapplied::GivenUp(error)) if error.code() == "timeout"));
        }
        assert_eq!(payloads(&head), [DOCUMENT; 3]);
        edit(&mut head, PayloadEdit::Remove(paths), &[0, 2], &mut Allowance::unbounded()).unwrap();
        assert_eq!(payloads(&head), ["{}", DOCUMENT, "{}"]);
    }

    #[test]
    fn growth_that_is_certain_is_refused_before_the_work_and_no_other() {
        let late = deadline(Duration::ZERO);
        let grows = 30 - DOCUMENT.len() as u64;
        for (ids, times) in [(vec![0, 1, 2], 3), (vec![0, 1, 1, 1, 0], 2), (vec![7, 0], 1)] {
            let most = grows * times;
            let refused =
                edit(&mut head(), overwrite(30), &ids, &mut Allowance::new(most - 1, u64::MAX, &late));
            assert!(
                matches!(refused, Err(Unapplied::TooLong(why)) if why.contains("would grow by more than"))
            );
            let in_time = deadline(Duration::from_secs(3600));
            let mut head = head();
            edit(&mut head, overwrite(30), &ids, &mut Allowance::new(most, u64::MAX, &in_time))
                .expect("it fits");
            let long = payloads(&head).iter().filter(|payload| payload.len() == 30).count();
            assert_eq!(long as u64, times);
        }
    }

    #[test]
    fn the_edits_of_a_batch_grow_payloads_together() {
        let (mut head, in_time) = (head(), deadline(Duration::from_secs(3600)));
        let grows = 30 - DOCUMENT.len() as u64;
        let mut allowance = Allowance::new(grows * 3 - 1, u64::MAX, &in_time);
        edit(&mut head, overwrite(30), &[0, 1], &mut allowance).expect("it fits");
        assert!(edit(&mut head, overwrite(30), &[2], &mut allowance).is_err());
    }

    #[test]
    fn a_payload_that_is_as_before_is_not_copied() {
        let mut head = head();
        let place = |head: &Head| head.state.point(&PointId::Num(1)).unwrap().1.document().as_ptr();
        let before = place(&head);
        let absent = PayloadEdit::Remove(vec![JsonPath::parse("b.c").unwrap()]);
        edit(&mut head, absent, &[1], &mut Allowance::unbounded()).unwrap();
        assert_eq!(place(&head), before);
        assert_eq!(head.state.point(&PointId::Num(1)).unwrap().1.version(), OpNumber::new(2));
    }

    proptest! {
        #[test]
        fn an_edit_leaves_at_least_what_it_makes_of_nothing(
            doc in any_object(any_json()), patch in any_object(any_json()),
            key in "[a-c](\\.[a-c]|\\[\\]|\\[[0-2]\\]){0,3}",
        ) {
            let patch: Box<[u8]> = patch.to_string().into_bytes().into();
            for at in [None, Some(JsonPath::parse(&key).unwrap())] {
                for edit in [
                    PayloadEdit::Merge { patch: patch.clone(), at: at.clone() },
                    PayloadEdit::Overwrite { payload: patch.clone(), at: at.clone() },
                ] {
                    let editing = Editing::new(&edit);
                    let result = editing.result(doc.to_string().as_bytes(), &mut Pace::without_deadline()).unwrap();
                    prop_assert!(result.len() as u64 >= editing.least_bytes());
                }
            }
        }
    }
}
