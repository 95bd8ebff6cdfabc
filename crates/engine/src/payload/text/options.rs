//! The options of a text index.

use super::language::Language;
use super::stop_words::StopWords;
use crate::error::Error;
use crate::json::{Kind, Reader, write_key, write_string, write_u64};
use crate::limits::{MAX_CUSTOM_STOP_WORDS, MAX_TOKEN_LEN};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Error>;

/// How a text is split into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokenization {
    /// At everything that is neither a letter nor a digit, of any script.
    #[default]
    Word,
    /// At white space.
    Whitespace,
    /// As `Word`. Every prefix of a word is a token.
    Prefix,
    /// By the rules of each script, with dictionaries where words are not separated.
    Multilingual,
}

impl Tokenization {
    const ALL: [Tokenization; 4] =
        [Tokenization::Word, Tokenization::Whitespace, Tokenization::Prefix, Tokenization::Multilingual];

    fn name(self) -> &'static str {
        match self {
            Tokenization::Word => "word",
            Tokenization::Whitespace => "whitespace",
            Tokenization::Prefix => "prefix",
            Tokenization::Multilingual => "multilingual",
        }
    }
}

/// The options of a text index that are given.
///
/// Options are equal if their effective values are: a default may be given or not.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    tokenization: Option<Tokenization>,
    min_token_len: Option<u32>,
    max_token_len: Option<u32>,
    lowercase: Option<bool>,
    ascii_folding: Option<bool>,
    phrase_matching: Option<bool>,
    stop_words: Option<Stops>,
    stemmer: Option<Language>,
}

/// Stop words in the two forms of the request.
#[derive(Clone, Debug)]
enum Stops {
    Language(Language),
    Set { languages: Option<Vec<Language>>, custom: Option<Vec<Box<str>>> },
}

impl Stops {
    fn languages(&self) -> &[Language] {
        match self {
            Stops::Language(language) => std::slice::from_ref(language),
            Stops::Set { languages, .. } => languages.as_deref().unwrap_or_default(),
        }
    }

    fn custom(&self) -> &[Box<str>] {
        match self {
            Stops::Language(_) => &[],
            Stops::Set { custom, .. } => custom.as_deref().unwrap_or_default(),
        }
    }
}

impl PartialEq for TextOptions {
    fn eq(&self, other: &TextOptions) -> bool {
        let scalars = |options: &TextOptions| {
            (options.tokenization(), options.token_len(), options.lowercase(), options.ascii_folding())
        };
        scalars(self) == scalars(other)
            && self.phrase_matching() == other.phrase_matching()
            && self.stemmer == other.stemmer
            && self.listed() == other.listed()
    }
}

impl TextOptions {
    /// Names of the options.
    pub const NAMES: [&str; 8] = [
        "tokenizer",
        "min_token_len",
        "max_token_len",
        "lowercase",
        "ascii_folding",
        "phrase_matching",
        "stopwords",
        "stemmer",
    ];

    /// Reads the value of the option of that name, one of [`TextOptions::NAMES`]. Null means that it is not given.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn read(&mut self, r: &mut Reader<'_>, name: &str) -> Result<()> {
        match name {
            "tokenizer" => self.tokenization = r.optional(tokenization)?,
            "min_token_len" => self.min_token_len = r.optional(|r| token_len(r, 0))?,
            "max_token_len" => self.max_token_len = r.optional(|r| token_len(r, 1))?,
            "lowercase" => self.lowercase = r.optional(Reader::bool)?,
            "ascii_folding" => self.ascii_folding = r.optional(Reader::bool)?,
            "phrase_matching" => self.phrase_matching = r.optional(Reader::bool)?,
            "stopwords" => self.stop_words = r.optional(stops)?,
            "stemmer" => self.stemmer = r.optional(stemmer)?,
            _ => return r.unknown(),
        }
        Ok(())
    }

    /// Checks the options together.
    ///
    /// # Errors
    /// `BadRequest` if the greatest length of tokens is below the least.
    pub fn check(&self, r: &Reader<'_>) -> Result<()> {
        match (self.min_token_len, self.max_token_len) {
            (Some(min), Some(max)) if min > max => {
                Err(r.error(format!("min_token_len {min} is larger than max_token_len {max}")))
            }
            _ => Ok(()),
        }
    }

    /// The name of an option that is given, if there is one.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            self.tokenization.is_some(),
            self.min_token_len.is_some(),
            self.max_token_len.is_some(),
            self.lowercase.is_some(),
            self.ascii_folding.is_some(),
            self.phrase_matching.is_some(),
            self.stop_words.is_some(),
            self.stemmer.is_some(),
        ];
        given.iter().position(|given| *given).map(|at| TextOptions::NAMES[at])
    }

    /// Appends the options given as fields of an object, each after a comma. Languages are answered by name.
    pub fn write_fields(&self, out: &mut Vec<u8>) {
        if let Some(tokenization) = self.tokenization {
            field(out, "tokenizer");
            write_string(out, tokenization.name());
        }
        for (name, value) in [("min_token_len", self.min_token_len), ("max_token_len", self.max_token_len)] {
            if let Some(value) = value {
                field(out, name);
                write_u64(out, u64::from(value));
            }
        }
        for (name, value) in [
            ("lowercase", self.lowercase),
            ("ascii_folding", self.ascii_folding),
            ("phrase_matching", self.phrase_matching),
        ] {
            if let Some(value) = value {
                field(out, name);
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
        }
        if let Some(stops) = &self.stop_words {
            field(out, "stopwords");
            write_stops(out, stops);
        }
        if let Some(stemmer) = self.stemmer {
            field(out, "stemmer");
            out.extend_from_slice(br#"{"type":"snowball","language":"#);
            write_string(out, stemmer.name);
            out.push(b'}');
        }
    }

    /// Makes a language, by its name or code, that of the stop words and of the stemmer where these are not given. A
    /// language may lack one of the two. False if there is no such language.
    pub fn set_language(&mut self, name: &str) -> bool {
        let Some(language) = Language::find(name) else { return false };
        if self.stop_words.is_none() && language.has_stop_words {
            self.stop_words = Some(Stops::Language(language));
        }
        if self.stemmer.is_none() && language.stemmer.is_some() {
            self.stemmer = Some(language);
        }
        true
    }

    /// The names of the languages of [`TextOptions::set_language`].
    pub fn language_names() -> impl Iterator<Item = &'static str> {
        Language::all().map(|language| language.name)
    }

    /// How texts are split into words.
    pub fn tokenization(&self) -> Tokenization {
        self.tokenization.unwrap_or_default()
    }

    /// The least and the greatest number of characters of a token.
    pub fn token_len(&self) -> (usize, usize) {
        let most = self.max_token_len.map_or(usize::MAX, |len| len as usize);
        (self.min_token_len.unwrap_or(0) as usize, most)
    }

    /// Whether tokens are in lower case; true by default.
    pub fn lowercase(&self) -> bool {
        self.lowercase.unwrap_or(true)
    }

    /// Whether Latin letters are folded to ASCII; false by default.
    pub fn ascii_folding(&self) -> bool {
        self.ascii_folding.unwrap_or(false)
    }

    /// Whether the index keeps the order of tokens; false by default. It does not affect answers.
    pub fn phrase_matching(&self) -> bool {
        self.phrase_matching.unwrap_or(false)
    }

    /// The language that tokens are stemmed in.
    pub fn stemmer(&self) -> Option<Language> {
        self.stemmer
    }

    /// The stop words.
    pub fn stop_words(&self) -> StopWords {
        match &self.stop_words {
            Some(stops) => StopWords::new(stops.languages(), stops.custom(), self.lowercase()),
            None => StopWords::default(),
        }
    }

    /// Languages and custom words of the stop words, as sets.
    fn listed(&self) -> (BTreeSet<&str>, BTreeSet<&str>) {
        let stops = self.stop_words.iter();
        let languages = stops.clone().flat_map(Stops::languages).map(|language| language.name);
        (languages.collect(), stops.flat_map(Stops::custom).map(|word| &**word).collect())
    }
}

fn tokenization(r: &mut Reader<'_>) -> Result<Tokenization> {
    let name = r.string()?;
    Tokenization::ALL
        .into_iter()
        .find(|one| one.name() == name)
        .ok_or_else(|| r.error("expected one of word, whitespace, prefix, multilingual"))
}

fn token_len(r: &mut Reader<'_>, min: u64) -> Result<u32> {
    r.integer_in(min, u64::from(MAX_TOKEN_LEN)).map(|len| len as u32)
}

fn language(r: &mut Reader<'_>, has: fn(&Language) -> bool, what: &str) -> Result<Language> {
    let name = r.string()?;
    Language::find(&name).filter(has).ok_or_else(|| {
        let names: Vec<&str> = Language::all().filter(has).map(|language| language.name).collect();
        r.error(format!("expected a language with {what}: one of {}", names.join(", ")))
    })
}

fn stops(r: &mut Reader<'_>) -> Result<Stops> {
    let of_language = |r: &mut Reader<'_>| language(r, |language| language.has_stop_words, "stop words");
    match r.peek()? {
        Kind::String => of_language(r).map(Stops::Language),
        Kind::Object => {
            let (mut languages, mut custom) = (None, None);
            r.object(|r, key| {
                match key {
                    "languages" => {
                        languages = r.optional(|r| {
                            let mut list: Vec<Language> = Vec::new();
                            r.array(|r, _| {
                                let language = of_language(r)?;
                                if !list.contains(&language) {
                                    list.push(language);
                                }
                                Ok(())
                            })?;
                            Ok(list)
                        })?;
                    }
                    "custom" => custom = r.optional(custom_words)?,
                    _ => r.unknown()?,
                }
                Ok(())
            })?;
            Ok(Stops::Set { languages, custom })
        }
        _ => Err(r.error("expected the name of a language, or an object with languages and custom")),
    }
}

fn custom_words(r: &mut Reader<'_>) -> Result<Vec<Box<str>>> {
    let mut words = Vec::new();
    r.array(|r, at| {
        if at >= MAX_CUSTOM_STOP_WORDS {
            return Err(r.error(format!("more than {MAX_CUSTOM_STOP_WORDS} stop words")));
        }
        words.push(r.string()?.into());
        Ok(())
    })?;
    Ok(words)
}

fn stemmer(r: &mut Reader<'_>) -> Result<Language> {
    let (mut kind, mut stemmed) = (None, None);
    r.object(|r, key| {
        match key {
            "type" => {
                kind = r.optional(|r| match &*r.string()? {
                    "snowball" => Ok(()),
                    _ => Err(r.error("expected snowball")),
                })?;
            }
            "language" => {
                stemmed = r.optional(|r| language(r, |language| language.stemmer.is_some(), "a stemmer"))?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    kind.ok_or_else(|| r.missing("type"))?;
    stemmed.ok_or_else(|| r.missing("language"))
}

fn field(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    write_key(out, name);
}

fn write_stops(out: &mut Vec<u8>, stops: &Stops) {
    match stops {
        Stops::Language(language) => write_string(out, language.name),
        Stops::Set { languages, custom } => {
            let languages =
                languages.as_ref().map(|list| list.iter().map(|language| language.name).collect::<Vec<_>>());
            let custom = custom.as_ref().map(|list| list.iter().map(|word| &**word).collect::<Vec<_>>());
            out.push(b'{');
            let mut is_first = true;
            for (name, list) in [("languages", languages), ("custom", custom)] {
                let Some(list) = list else { continue };
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
                write_key(out, name);
                out.push(b'[');
                for (at, word) in list.into_iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(out, word);
                }
                out.push(b']');
            }
            out.push(b'}');
        }
    }
}
