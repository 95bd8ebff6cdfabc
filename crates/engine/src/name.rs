//! The rules for names of collections and vector fields (C2.2).
//!
//! This is the only place that has them: the server asks the engine. A name is never used as a path.

use unicode_normalization::is_nfc;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::error::Error;

/// The greatest number of characters of a collection's name.
const MAX_COLLECTION_CHARACTERS: usize = 255;
/// The greatest number of bytes of a vector field's name.
const MAX_VECTOR_BYTES: usize = 200;
/// Characters that are not allowed in names, beside control characters.
const FORBIDDEN: &str = "/\\<>:\"|?*";

/// Checks the name of a collection to be created. It is a pure function of the name, percent-decoded.
///
/// # Errors
/// `BadRequest` with a sentence for the client.
pub fn check_collection_name(name: &str) -> Result<(), Error> {
    collection_name_fault(name).map_or(Ok(()), |fault| Err(Error::bad(format!("Collection name {fault}"))))
}

/// What is wrong with the name of a collection or an alias to be created, as the end of a sentence; `None` if it is valid.
pub fn collection_name_fault(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length == 0 || length > MAX_COLLECTION_CHARACTERS {
        return Some(format!("must be from 1 to {MAX_COLLECTION_CHARACTERS} characters, got {length}"));
    }
    characters_fault(name).map(str::to_string).or_else(|| confusion_fault(name))
}

/// Why two names that look alike could be different collections: a character that is not seen, that changes the
/// direction of the text, or that a later Unicode may define, or another than the composed form of one.
///
/// Names of vector fields may be such: they are looked up within one collection, and were allowed before.
fn confusion_fault(name: &str) -> Option<String> {
    let hidden = name.chars().find_map(|c| match c.general_category() {
        // All controls of the direction are format characters.
        GeneralCategory::Format => Some((c, "a format character")),
        GeneralCategory::Unassigned => Some((c, "a character that Unicode has not assigned")),
        _ => None,
    });
    match hidden {
        Some((c, what)) => Some(format!("must not hold U+{:04X}, {what}", u32::from(c))),
        None if !is_nfc(name) => Some("must be in Unicode's normal form C".to_string()),
        None => None,
    }
}

/// What is wrong with the name of a vector field to be declared, as the end of a sentence; `None` if it is valid.
pub fn vector_name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("must not be empty".to_string());
    }
    if name.len() > MAX_VECTOR_BYTES {
        return Some(format!("must be at most {MAX_VECTOR_BYTES} bytes"));
    }
    characters_fault(name).map(str::to_string)
}

fn characters_fault(name: &str) -> Option<&'static str> {
    if name.chars().any(|c| c.is_control() || FORBIDDEN.contains(c)) {
        Some("must not hold control characters or any of / \\ < > : \" | ? *")
    } else if name == "." || name == ".." {
        Some("must not be '.' or '..'")
    } else if name.starts_with(' ') || name.ends_with(' ') {
        Some("must not start or end with a space")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_is_wrong_c2_2() {
        let refusal = |name: &str| check_collection_name(name).unwrap_err();
        let long = "Collection name must be from 1 to 255 characters, got 256";
        assert_eq!(refusal(&"é".repeat(256)), Error::bad(long));
        let characters = "Collection name must not hold control characters or any of / \\ < > : \" | ? *";
        assert_eq!(refusal(" a/b"), Error::bad(characters));
        assert_eq!(refusal(".."), Error::bad("Collection name must not be '.' or '..'"));
        assert_eq!(refusal("a "), Error::bad("Collection name must not start or end with a space"));
    }

    #[test]
    fn names_that_look_alike_are_refused_c2_2() {
        let fault = |name: &str| check_collection_name(name).unwrap_err();
        for (name, what) in [
            ("a\u{200b}b", "U+200B, a format character"),
            ("docs\u{ad}", "U+00AD, a format character"),
            ("\u{feff}docs", "U+FEFF, a format character"),
            ("\u{202e}scod", "U+202E, a format character"),
            ("\u{2066}docs\u{2069}", "U+2066, a format character"),
            ("\u{61c}docs", "U+061C, a format character"),
            ("\u{1f468}\u{200d}\u{1f469}", "U+200D, a format character"),
            ("tag\u{e0041}", "U+E0041, a format character"),
            ("a\u{378}", "U+0378, a character that Unicode has not assigned"),
            ("a\u{fdd0}", "U+FDD0, a character that Unicode has not assigned"),
            ("a\u{10ffff}", "U+10FFFF, a character that Unicode has not assigned"),
        ] {
            assert_eq!(fault(name), Error::bad(format!("Collection name must not hold {what}")), "{name:?}");
            assert_eq!(vector_name_fault(name), None, "{name:?}");
        }
        let form = Error::bad("Collection name must be in Unicode's normal form C");
        // An e with an accent of its own, the Angstrom sign, a Hangul syllable in parts, marks in another order.
        for name in ["cafe\u{301}", "\u{212b}", "\u{1112}\u{1161}\u{11ab}", "q\u{307}\u{323}"] {
            assert_eq!(fault(name), form, "{name:?}");
            assert_eq!(vector_name_fault(name), None, "{name:?}");
        }
        for name in [
            "caf\u{e9}",
            "\u{c5}",
            "\u{d55c}",
            "q\u{323}\u{307}",
            "\u{1f468}",
            "日本語",
            "مجموعة",
            "\u{e000}",
        ] {
            assert_eq!(check_collection_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn names_of_collections_follow_c2_2() {
        for good in ["a", "ünï-_.9 x", "...", &"x".repeat(255), &"é".repeat(255)] {
            assert_eq!(check_collection_name(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            " a",
            "a ",
            "a/b",
            "a\\b",
            "a\0",
            "a\n",
            "a*",
            "a?",
            "a|b",
            "\"",
            &"x".repeat(256),
        ] {
            assert!(check_collection_name(bad).is_err(), "{bad:?}");
        }
    }
}
