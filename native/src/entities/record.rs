//! How the names of a chunk are stored with it, and which candidates for a link follow from that. A record holds words
//! and runs of words, no numbers that depend on anything but the chunk; finding them is `entities::mentions`'. Which
//! words are grammar (`entities::grammar_words`), and which Korean noun a word holds, is asked when a record is read:
//! so lists may change, and what was stored before gives the same names as what is stored now.

use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::entities::grammar_words::{is_grammar_word, korean_noun};
use crate::entities::words::{form_of, is_caseless};
use crate::error::{Error, Result};

/// The title of the memory; of its first chunk only.
pub(crate) const TITLE: u8 = 1;
/// Capitalised, or words of a caseless script.
pub(crate) const CAPITALISED: u8 = 2;
/// Between quotation marks.
pub(crate) const QUOTED: u8 = 4;
/// Letters mixed with digits, an address.
pub(crate) const IDENTIFIER: u8 = 8;
/// A day.
pub(crate) const DATE: u8 = 16;
/// Named by a tag, an extraction or a language model.
pub(crate) const PHRASE: u8 = 32;
/// Any of the kinds by which a chunk itself says that this is a name.
pub(crate) const DECLARED: u8 = CAPITALISED | QUOTED | IDENTIFIER | DATE | PHRASE;
/// Not a kind: written as names are in its script, be it as part of a longer run.
pub(crate) const PROPER: u8 = 64;

/// Words of a name that is linked.
pub(crate) const NAME_WORDS_MAX: usize = 7;
/// The same in scripts without case, where any two words could be a name.
const CASELESS_WORDS_MAX: usize = 2;
/// Runs of words within windows that may be names: some fifteen in a passage of a book, six a word in one that is all
/// capitals, where each costs fifty bytes of memory.
const CANDIDATES_MAX: usize = 256;
/// The form of the records below.
const VERSION: u8 = 1;

const IS_CONNECTOR: u8 = 1;
const HAS_FORM: u8 = 2;
const IS_FUNCTION_WORD: u8 = 4;

/// A place in a chunk that a link can stand for, if its name is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mention<'record> {
    /// Identifies the name: equal for equal words.
    pub(crate) hash: u64,
    /// Where its first word stands among the record's.
    pub(crate) first: u16,
    /// How many words it covers.
    pub(crate) length: u8,
    /// Kinds and `PROPER`.
    pub(crate) marks: u8,
    /// As it is written.
    pub(crate) surface: &'record str,
}

/// The number of a word, equal for equal forms. Chosen for speed; records do not hold it.
pub(crate) fn word_hash(form: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(form.as_bytes());
    hasher.finish()
}

/// The number of a run of words from that of the run without its last word (0 for none).
pub(crate) fn extended(hash: u64, word: u64) -> u64 {
    // The finaliser of SplitMix64: two runs meet by chance only.
    let mut mixed = (hash.rotate_left(23) ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The number of a name given by its words, parted by blanks.
pub(crate) fn name_hash(form: &str) -> u64 {
    form.split(' ').fold(0, |hash, word| extended(hash, word_hash(word)))
}

/// A run of the record's words in which each run of up to `NAME_WORDS_MAX` words may be a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Of a caseless script: then pairs of words are the longest, and all of them count as declared.
    pub(crate) is_caseless: bool,
}

/// A run of words that the chunk itself shows to be a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) length: usize,
    /// `TITLE` or one of `DECLARED`.
    pub(crate) kind: u8,
    /// The name, where it is not made of the words as they stand: a date.
    pub(crate) form: Option<String>,
}

/// What a word is in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Neither begins nor ends a name.
    Connector,
    /// Is no name alone: "The", "He".
    FunctionWord,
}

/// A record under construction: `word` for each in order, then the bytes.
#[derive(Debug, Default)]
pub(crate) struct RecordWriter {
    words: Vec<u8>,
    count: usize,
    blob: String,
    end: usize,
}

impl RecordWriter {
    /// Adds a word: what stands between it and the one before (where that is a part of the same run), how it is
    /// written, its form, and what it is among the words of a name.
    pub(crate) fn word(&mut self, between: &str, surface: &str, form: &str, role: Role) {
        self.blob.push_str(between);
        self.blob.push_str(surface);
        let has_form = !surface.is_ascii() || !surface.eq_ignore_ascii_case(form);
        put(&mut self.words, between.len());
        put(&mut self.words, surface.len());
        let of_role = match role {
            Role::Plain => 0,
            Role::Connector => IS_CONNECTOR,
            Role::FunctionWord => IS_FUNCTION_WORD,
        };
        self.words.push(of_role + u8::from(has_form) * HAS_FORM);
        if has_form {
            put_text(&mut self.words, form);
        }
        self.count += 1;
        self.end = self.blob.len();
    }

    /// The record.
    pub(crate) fn finish(self, windows: &[Window], spans: &[Span]) -> Vec<u8> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut bytes = vec![VERSION];
        put(&mut bytes, self.count);
        bytes.extend_from_slice(&self.words);
        put_text(&mut bytes, &self.blob);
        put(&mut bytes, windows.len());
        for window in windows {
            put(&mut bytes, window.first);
            put(&mut bytes, window.count * 2 + usize::from(window.is_caseless));
        }
        put(&mut bytes, spans.len());
        for span in spans {
            put(&mut bytes, span.first);
            put(&mut bytes, span.length);
            bytes.push(span.kind);
            put_text(&mut bytes, span.form.as_deref().unwrap_or_default());
        }
        bytes
    }
}

fn put(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

struct StoredWord {
    hash: u64,
    start: usize,
    end: usize,
    is_connector: bool,
    is_function_word: bool,
    /// Of a script without case, a word of grammar: neither begins nor ends a name.
    is_grammar: bool,
    /// Of a Korean noun with a particle: the noun's number, and its end.
    noun: Option<(u64, usize)>,
}

/// Reads records one after another; kept between them for its memory.
#[derive(Default)]
pub(crate) struct RecordReader {
    words: Vec<StoredWord>,
    lowered: String,
}

impl RecordReader {
    /// Hands out every mention of a record; the same run of words may come twice with different marks. `Damaged` for
    /// bytes that are no record.
    pub(crate) fn each_mention<'record>(
        &mut self,
        record: &'record [u8],
        each: impl FnMut(Mention<'record>),
    ) -> Result<()> {
        self.try_each(record, each).ok_or_else(|| Error::Damaged("the stored names of a chunk are none".to_owned()))
    }

    fn try_each<'record>(&mut self, record: &'record [u8], mut each: impl FnMut(Mention<'record>)) -> Option<()> {
        if record.is_empty() {
            return Some(());
        }
        let mut bytes = Cursor { bytes: record, at: 0 };
        if bytes.byte()? != VERSION {
            return None;
        }
        let blob = self.read_words(&mut bytes)?;
        let mut candidates = 0;
        for _ in 0..bytes.number()? {
            let first = bytes.number()?;
            let packed = bytes.number()?;
            let (count, is_caseless) = (packed / 2, packed % 2 == 1);
            let words = self.words.get(first..first.checked_add(count)?)?;
            let longest = if is_caseless { CASELESS_WORDS_MAX } else { NAME_WORDS_MAX };
            let marks = if is_caseless { CAPITALISED | PROPER } else { PROPER };
            // A name, at either end.
            let may_end = |word: &StoredWord| !word.is_connector && !word.is_grammar;
            for (start, word) in words.iter().enumerate().filter(|(_, word)| may_end(word)) {
                let mut hash_before = 0;
                for (length, last) in (1u8..).zip(words[start..].iter().take(longest)) {
                    let (last_hash, end) = last.noun.unwrap_or((last.hash, last.end));
                    let is_name_like = if length == 1 { !word.is_function_word } else { may_end(last) };
                    if is_name_like && candidates < CANDIDATES_MAX {
                        candidates += 1;
                        let (hash, surface) = (extended(hash_before, last_hash), blob.get(word.start..end)?);
                        each(Mention { hash, first: u16::try_from(first + start).ok()?, length, marks, surface });
                    }
                    // What follows a particle is another name.
                    if last.noun.is_some() {
                        break;
                    }
                    hash_before = extended(hash_before, last.hash);
                }
            }
        }
        for _ in 0..bytes.number()? {
            let first = bytes.number()?;
            let words = self.words.get(first..first.checked_add(bytes.number()?)?)?;
            let marks = bytes.byte()?;
            let form = bytes.text()?;
            let hash = match form {
                "" => words.iter().fold(0, |hash, word| extended(hash, word.hash)),
                form => name_hash(form),
            };
            let surface = blob.get(words.first()?.start..words.last()?.end)?;
            let (first, length) = (u16::try_from(first).ok()?, u8::try_from(words.len()).ok()?);
            // Words of grammar alone name nothing between quotation marks or as a tag either; a title is a title.
            if marks & TITLE != 0 || !words.iter().all(|word| word.is_grammar) {
                each(Mention { hash, first, length, marks, surface });
            }
        }
        Some(())
    }

    fn read_words<'record>(&mut self, bytes: &mut Cursor<'record>) -> Option<&'record str> {
        self.words.clear();
        let count = bytes.number()?;
        let words = Cursor { ..*bytes };
        for _ in 0..count {
            bytes.skip_word()?;
        }
        let blob = bytes.text()?;
        let (mut words, mut end) = (words, 0usize);
        for _ in 0..count {
            let start = end.checked_add(words.number()?)?;
            end = start.checked_add(words.number()?)?;
            let flags = words.byte()?;
            let surface = blob.get(start..end)?;
            let (mut is_grammar, mut noun) = (false, None);
            let hash = if flags & HAS_FORM != 0 {
                let form = words.text()?;
                if form.starts_with(is_caseless) {
                    noun = korean_noun(surface).map(|noun| (form_of(noun), start + noun.len()));
                    is_grammar = is_grammar_word(form) || noun.as_ref().is_some_and(|(form, _)| is_grammar_word(form));
                }
                word_hash(form)
            } else {
                self.lowered.clear();
                self.lowered.push_str(surface);
                self.lowered.make_ascii_lowercase();
                word_hash(&self.lowered)
            };
            let (is_connector, is_function_word) = (flags & IS_CONNECTOR != 0, flags & IS_FUNCTION_WORD != 0);
            let noun = noun.map(|(form, end)| (word_hash(&form), end));
            self.words.push(StoredWord { hash, start, end, is_connector, is_function_word, is_grammar, noun });
        }
        Some(blob)
    }
}

struct Cursor<'record> {
    bytes: &'record [u8],
    at: usize,
}

impl<'record> Cursor<'record> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = 0usize;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'record str> {
        let length = self.number()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        std::str::from_utf8(bytes).ok()
    }

    fn skip_word(&mut self) -> Option<()> {
        self.number()?;
        self.number()?;
        if self.byte()? & HAS_FORM != 0 {
            self.text()?;
        }
        Some(())
    }
}
