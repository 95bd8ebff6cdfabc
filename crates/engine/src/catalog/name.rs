//! Names of collections (C2.2). A name never becomes a path.

/// Characters of a name at most.
const MAX_CHARACTERS: usize = 255;
/// Characters that no name has.
const FORBIDDEN: &[char] = &['/', '\\', '<', '>', ':', '"', '|', '?', '*'];

/// Checks the name of a collection to be created.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 || length > MAX_CHARACTERS {
        return Err(format!("must be from 1 to {MAX_CHARACTERS} characters, got {length}"));
    }
    if let Some(bad) = name.chars().find(|c| FORBIDDEN.contains(c)) {
        return Err(format!("must not contain the character '{bad}'"));
    }
    if name.chars().any(char::is_control) {
        return Err("must not contain control characters".to_string());
    }
    if name == "." || name == ".." {
        return Err("must not be '.' or '..'".to_string());
    }
    if name.starts_with(' ') || name.ends_with(' ') {
        return Err("must not start or end with a space".to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_c2_2() {
        for good in ["a", "ünï-_.9 x", "...", &"x".repeat(255), &"é".repeat(255)] {
            assert_eq!(check_name(good), Ok(()), "{good}");
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
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }
}
