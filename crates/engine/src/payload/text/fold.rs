//! Lower case, and folding of Latin letters to ASCII: `é` to `e`, `ß` to `ss`, `ﬁ` to `fi`.

use std::borrow::Cow;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Latin letters that Unicode does not decompose, with their foldings. Ascending.
const LETTERS: [(char, &str); 44] = [
    ('Æ', "AE"),
    ('Ð', "D"),
    ('Ø', "O"),
    ('Þ', "TH"),
    ('ß', "ss"),
    ('æ', "ae"),
    ('ð', "d"),
    ('ø', "o"),
    ('þ', "th"),
    ('Đ', "D"),
    ('đ', "d"),
    ('Ħ', "H"),
    ('ħ', "h"),
    ('ı', "i"),
    ('ĸ', "q"),
    ('Ł', "L"),
    ('ł', "l"),
    ('Ŋ', "N"),
    ('ŋ', "n"),
    ('Œ', "OE"),
    ('œ', "oe"),
    ('Ŧ', "T"),
    ('ŧ', "t"),
    ('ƀ', "b"),
    ('Ɓ', "B"),
    ('Ɔ', "O"),
    ('Ɖ', "D"),
    ('Ɗ', "D"),
    ('Ə', "A"),
    ('Ɛ', "E"),
    ('ƒ', "f"),
    ('Ɠ', "G"),
    ('Ɨ', "I"),
    ('Ƙ', "K"),
    ('ƙ', "k"),
    ('ƴ', "y"),
    ('ɓ', "b"),
    ('ɔ', "o"),
    ('ɖ', "d"),
    ('ɗ', "d"),
    ('ə', "a"),
    ('ɛ', "e"),
    ('ɨ', "i"),
    ('ẞ', "SS"),
];

/// The token in lower case, letter by letter. A final sigma is not distinguished, so that `ΟΔΟΣ` finds `οδος` and a
/// prefix of a word is a prefix of its lower case.
pub fn to_lower(token: &str) -> Cow<'_, str> {
    if token.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(token);
    }
    let letters = token.chars().flat_map(char::to_lowercase);
    Cow::Owned(letters.map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect())
}

/// The token with its Latin letters in ASCII; those of other scripts stay as they are.
pub fn to_ascii(token: &str) -> Cow<'_, str> {
    if token.is_ascii() {
        return Cow::Borrowed(token);
    }
    let mut folded = String::with_capacity(token.len());
    for character in token.chars() {
        push_folded(character, &mut folded);
    }
    Cow::Owned(folded)
}

fn push_folded(character: char, folded: &mut String) {
    if character.is_ascii() {
        folded.push(character);
        return;
    }
    if let Ok(at) = LETTERS.binary_search_by_key(&character, |(letter, _)| *letter) {
        folded.push_str(LETTERS[at].1);
        return;
    }
    // A combining accent belongs to the letter before it, if that was folded or is ASCII.
    if is_combining_mark(character) && folded.ends_with(|last: char| last.is_ascii_alphanumeric()) {
        return;
    }
    let before = folded.len();
    let mut is_latin = false;
    decompose_compatible(character, |part| {
        if part.is_ascii_alphanumeric() {
            is_latin = true;
            folded.push(part);
        } else if let Ok(at) = LETTERS.binary_search_by_key(&part, |(letter, _)| *letter) {
            is_latin = true;
            folded.push_str(LETTERS[at].1);
        }
    });
    // `한` decomposes as well, but not to letters of ASCII.
    if !is_latin {
        folded.truncate(before);
        folded.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_is_taken_letter_by_letter() {
        for (text, lower) in [("Fox 42", "fox 42"), ("ΟΔΟΣ", "οδοσ"), ("οδος", "οδοσ"), ("ÄSS", "äss")]
        {
            assert_eq!(to_lower(text), lower);
        }
    }

    #[test]
    fn latin_letters_become_ascii() {
        for (text, ascii) in [
            ("ação", "acao"),
            ("Ünïcödé", "Unicode"),
            ("Straße", "Strasse"),
            ("smørrebrød", "smorrebrod"),
            ("Łódź", "Lodz"),
            ("Ǽsop", "AEsop"),
            ("ﬁn", "fin"),
            ("ＡＢＣ１", "ABC1"),
            ("Việt", "Viet"),
            ("e\u{301}te\u{301}", "ete"),
            ("İstanbul ılık", "Istanbul ilik"),
        ] {
            assert_eq!(to_ascii(text), ascii);
        }
    }

    #[test]
    fn other_scripts_stay_as_they_are() {
        for text in ["привет", "й", "한국", "がぎ", "漢字", "ภาษา", "हिन्दी", "Ελλάδα", "😀"]
        {
            assert_eq!(to_ascii(text), text);
        }
        assert!(LETTERS.is_sorted_by_key(|(letter, _)| *letter));
    }
}
