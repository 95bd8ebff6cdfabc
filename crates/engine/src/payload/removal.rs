//! Removing paths from a payload, all of them in one pass.

use super::document::{Array, Document, Object, Value};
use super::path::{JsonPath, Step};
use crate::deadline::Pace;
use crate::error::Error;
use std::collections::BTreeMap;

/// Paths to remove, joined to a tree, so that a document is read once for all paths.
///
/// A path that ends in `[]` empties the array. One that ends in `[n]` does nothing, because removing by position twice
/// would remove two elements. A path that selects nothing is not an error. So elements keep their positions, and the
/// order of the paths does not matter.
pub struct Removal<'p> {
    root: Node<'p>,
}

/// A value that the paths lead to.
#[derive(Default)]
struct Node<'p> {
    /// Whether a path ends here.
    ends: bool,
    /// Values of an object, by their encoded keys.
    keys: BTreeMap<&'p [u8], Node<'p>>,
    every: Option<Box<Node<'p>>>,
    elements: BTreeMap<u32, Node<'p>>,
}

impl<'p> Node<'p> {
    fn add(&mut self, steps: &'p [Step]) {
        let Some((step, rest)) = steps.split_first() else {
            self.ends = true;
            return;
        };
        let next = match step {
            Step::Key(key) => self.keys.entry(key.encoded()).or_default(),
            Step::Every => self.every.get_or_insert_default(),
            // Elements are not removed by position.
            Step::Index(_) if rest.is_empty() => return,
            Step::Index(index) => self.elements.entry(*index).or_default(),
        };
        next.add(rest);
    }
}

impl<'p> Removal<'p> {
    /// The removal of these paths.
    pub fn new(paths: &'p [JsonPath]) -> Removal<'p> {
        let mut root = Node::default();
        paths.iter().for_each(|path| root.add(path.steps()));
        Removal { root }
    }

    /// The document without what the paths select; `None` if they select nothing.
    ///
    /// # Errors
    /// The errors of the pace.
    pub fn apply(&self, doc: &[u8], pace: &mut Pace<'_>) -> Result<Option<Vec<u8>>, Error> {
        let mut pass = Pass { doc, pace, out: Vec::new(), done: 0 };
        pass.visit(0, doc.len(), &[&self.root])?;
        if pass.done == 0 {
            return Ok(None);
        }
        pass.out.extend_from_slice(&doc[pass.done..]);
        Ok(Some(pass.out))
    }
}

/// The removal from one document. Positions are indexes into its bytes.
struct Pass<'a, 'd> {
    doc: &'a [u8],
    pace: &'a mut Pace<'d>,
    out: Vec<u8>,
    /// The document before this position is in `out` or removed. 0 until the first removal.
    done: usize,
}

impl Pass<'_, '_> {
    /// Removes from the value of `len` bytes at `at`, which these nodes lead to.
    fn visit(&mut self, at: usize, len: usize, nodes: &[&Node<'_>]) -> Result<(), Error> {
        // Each level reads the levels below it once more.
        self.pace.work(len * nodes.len())?;
        let doc = self.doc;
        match Document::new(&doc[at..at + len]).root() {
            Some(Value::Object(object)) if nodes.iter().any(|node| !node.keys.is_empty()) => {
                self.visit_object(at, object, nodes)
            }
            Some(Value::Array(array)) => self.visit_array(at, len, array, nodes),
            _ => Ok(()),
        }
    }

    fn visit_object(&mut self, at: usize, object: Object<'_>, nodes: &[&Node<'_>]) -> Result<(), Error> {
        let (mut from, mut is_first) = (at + 1, true);
        for entry in object.entries() {
            let to = from + entry.key.len() + 1 + entry.value.len();
            let deeper: Vec<&Node<'_>> = nodes.iter().filter_map(|node| node.keys.get(entry.key)).collect();
            if !deeper.iter().any(|node| node.ends) {
                is_first = false;
                if !deeper.is_empty() {
                    self.visit(to - entry.value.len(), entry.value.len(), &deeper)?;
                }
            } else if is_first {
                // The next entry becomes the first, so the comma behind this one is removed, too.
                let comma = usize::from(self.doc.get(to) == Some(&b','));
                self.cut(from, to + comma);
            } else {
                self.cut(from - 1, to);
            }
            from = to + 1;
        }
        Ok(())
    }

    fn visit_array(
        &mut self,
        at: usize,
        len: usize,
        array: Array<'_>,
        nodes: &[&Node<'_>],
    ) -> Result<(), Error> {
        let every = || nodes.iter().filter_map(|node| node.every.as_deref());
        if every().any(|node| node.ends) {
            if len > 2 {
                self.cut(at + 1, at + len - 1);
            }
            return Ok(());
        }
        let last =
            nodes.iter().filter_map(|node| node.elements.last_key_value()).map(|(index, _)| *index).max();
        let wanted = match (every().next(), last) {
            (Some(_), _) => usize::MAX,
            (None, Some(last)) => last as usize + 1,
            (None, None) => return Ok(()),
        };
        let mut from = at + 1;
        let mut deeper = Vec::new();
        for (index, element) in array.raw_elements().enumerate().take(wanted) {
            deeper.clear();
            deeper.extend(every());
            deeper.extend(nodes.iter().filter_map(|node| node.elements.get(&(index as u32))));
            if !deeper.is_empty() {
                self.visit(from, element.len(), &deeper)?;
            }
            from += element.len() + 1;
        }
        Ok(())
    }

    /// Omits a part from the result. Parts are omitted in the order of the document.
    fn cut(&mut self, from: usize, to: usize) {
        if self.done == 0 {
            self.out.reserve_exact(self.doc.len());
        }
        self.out.extend_from_slice(&self.doc[self.done..from]);
        self.done = to;
    }
}

#[cfg(test)]
mod tests {
    use super::super::edit::tests::{any_json, any_object};
    use super::*;
    use crate::deadline::Deadline;
    use proptest::prelude::*;
    use serde_json::Value as Json;
    use std::time::{Duration, Instant};

    const DOC: &str = r#"{"k":{"s":1,"list":[{"a":{"x":1}},{"b":2}]}}"#;

    fn paths<T: AsRef<str>>(texts: &[T]) -> Vec<JsonPath> {
        texts.iter().map(|text| JsonPath::parse(text.as_ref()).unwrap()).collect()
    }

    /// The document without the paths; `None` if they select nothing.
    fn removed<T: AsRef<str>>(doc: &str, keys: &[T]) -> Option<String> {
        let paths = paths(keys);
        let after = Removal::new(&paths).apply(doc.as_bytes(), &mut Pace::without_deadline()).unwrap();
        after.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_the_paths_select_is_removed_c5_8() {
        let done = |keys: &[&str]| removed(DOC, keys).unwrap();
        assert_eq!(done(&["k.list[].a"]), r#"{"k":{"s":1,"list":[{},{"b":2}]}}"#);
        assert_eq!(done(&["k.list[]"]), r#"{"k":{"s":1,"list":[]}}"#);
        assert_eq!(done(&["k.list[1].b", "k.s"]), r#"{"k":{"list":[{"a":{"x":1}},{}]}}"#);
        assert_eq!(done(&["k"]), "{}");
        assert_eq!(done(&["k.s.t", "k", "k.s"]), "{}");
        assert_eq!(removed(DOC, &["k.list[0]"]), None);
        assert_eq!(removed(DOC, &["x", "k.s.t", "k[].s", "k.list.a", "k.list[9].a"]), None);
        assert_eq!(removed(DOC, &["k.list[0]", "k.list[0].a.x"]), Some(DOC.replace(r#""x":1"#, "")));
    }

    #[test]
    fn no_element_changes_its_position_c5_8() {
        let doc = r#"{"a":[{"x":0,"y":0},{"x":1,"y":1},{"x":2}]}"#;
        let expected = r#"{"a":[{"y":0},{"x":1},{}]}"#;
        let keys = ["a[0].x", "a[0]", "a[1].y", "a[2].x"];
        assert_eq!(removed(doc, &keys).unwrap(), expected);
        assert_eq!(removed(doc, &["a[2].x", "a[1].y", "a[0]", "a[0].x"]).unwrap(), expected);
    }

    #[test]
    fn each_key_is_removed_with_one_comma() {
        let doc = r#"{"a":1,"b":[1],"c":{},"d":"}"}"#;
        for kept in 0..16 {
            let keep = |at: usize| kept >> at & 1 == 1;
            let names = ["a", "b", "c", "d"];
            let gone: Vec<&str> = (0..4).filter(|at| !keep(*at)).map(|at| names[at]).collect();
            let all = [r#""a":1"#, r#""b":[1]"#, r#""c":{}"#, r#""d":"}""#];
            let left: Vec<&str> = (0..4).filter(|at| keep(*at)).map(|at| all[at]).collect();
            let expected = format!("{{{}}}", left.join(","));
            assert_eq!(removed(doc, &gone).unwrap_or(doc.into()), expected);
        }
    }

    #[test]
    fn a_document_is_read_once_for_all_paths() {
        let doc = format!(r#"{{"list":[{}{{"k":1}}]}}"#, r#"{"a":"a text","b":[1,2,3]},"#.repeat(1_000));
        let work = |paths: &[JsonPath]| {
            let mut pace = Pace::without_deadline();
            assert_eq!(Removal::new(paths).apply(doc.as_bytes(), &mut pace).unwrap(), None);
            pace.done()
        };
        let many: Vec<String> = (0..1_000).map(|at| format!("list[].k{at}")).collect();
        assert_eq!(work(&paths(&many)), work(&paths(&["list[].k0"])));
    }

    #[test]
    fn a_removal_is_given_up_within_a_document_c1_10() {
        let doc = format!(r#"{{"list":[{}0]}}"#, r#"{"a":"a text of some length"},"#.repeat(300_000));
        let late = Deadline::new(Instant::now(), Duration::ZERO, "Delete payload");
        let paths = paths(&["list[].a"]);
        let mut pace = Pace::begun(&late);
        let error = Removal::new(&paths).apply(doc.as_bytes(), &mut pace).unwrap_err();
        assert_eq!(error.code(), "timeout");
    }

    fn model_delete(target: &mut Json, steps: &[Step]) {
        match (steps, target) {
            ([Step::Key(key)], Json::Object(object)) => drop(object.shift_remove(key.text())),
            ([Step::Key(key), rest @ ..], Json::Object(object)) => {
                if let Some(value) = object.get_mut(key.text()) {
                    model_delete(value, rest);
                }
            }
            ([Step::Every], Json::Array(array)) => array.clear(),
            ([Step::Index(_)], _) => {}
            ([step, rest @ ..], Json::Array(array)) => {
                for (index, element) in array.iter_mut().enumerate() {
                    if *step == Step::Every || *step == Step::Index(index as u32) {
                        model_delete(element, rest);
                    }
                }
            }
            _ => {}
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]
        #[test]
        fn paths_are_removed_as_if_one_after_the_other(
            doc in any_object(any_json()),
            keys in prop::collection::vec("[a-c](\\.[a-c]|\\[\\]|\\[[0-2]\\]){0,3}", 0..8),
        ) {
            let bytes = doc.to_string();
            let mut model = doc.clone();
            for path in paths(&keys) {
                model_delete(&mut model, path.steps());
            }
            let expected = (model != doc).then(|| model.to_string());
            prop_assert_eq!(removed(&bytes, &keys), expected);
        }
    }
}
