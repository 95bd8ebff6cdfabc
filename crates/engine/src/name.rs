//! Names of collections and of vector fields (C2.2). A name never becomes a path.

/// Characters of a collection's name at most.
const COLLECTION_CHARACTERS: usize = 255;
/// Bytes of a vector field's name at most.
const VECTOR_BYTES: usize = 200;
/// Characters that no name has.
const FORBIDDEN: &str = "/\\<>:\"|?*";

/// What is wrong with the name of a collection to be created, as the end of a sentence.
pub fn collection_name_fault(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length == 0 || length > COLLECTION_CHARACTERS {
        return Some(format!("must be from 1 to {COLLECTION_CHARACTERS} characters, got {length}"));
    }
    characters_fault(name).map(str::to_string)
}

/// What is wrong with the name of a vector field to be declared, as the end of a sentence.
pub fn vector_name_fault(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("must not be empty".to_string());
    }
    if name.len() > VECTOR_BYTES {
        return Some(format!("must be at most {VECTOR_BYTES} bytes"));
    }
    characters_fault(name).map(str::to_string)
}

fn characters_fault(name: &str) -> Option<&'static str> {
    if name == "." || name == ".." {
        Some("must not be '.' or '..'")
    } else if name.starts_with(' ') || name.ends_with(' ') {
        Some("must not start or end with a space")
    } else if name.chars().any(|c| c.is_control() || FORBIDDEN.contains(c)) {
        Some("must not hold control characters or any of / \\ < > : \" | ? *")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_collections_follow_c2_2() {
        for good in ["a", "ünï-_.9 x", "...", &"x".repeat(255), &"é".repeat(255)] {
            assert_eq!(collection_name_fault(good), None, "{good}");
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
            assert!(collection_name_fault(bad).is_some(), "{bad:?}");
        }
    }
}
