//! The rules for names of collections and vector fields (C2.2).
//!
//! This is the only place that has them: the server asks the engine. A name is never used as a path.

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
    let length = name.chars().count();
    let fault = if length == 0 || length > MAX_COLLECTION_CHARACTERS {
        Some(format!("must be from 1 to {MAX_COLLECTION_CHARACTERS} characters, got {length}"))
    } else {
        characters_fault(name).map(str::to_string)
    };
    fault.map_or(Ok(()), |fault| Err(Error::bad(format!("Collection name {fault}"))))
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
