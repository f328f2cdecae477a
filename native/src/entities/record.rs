//! Writes and reads entity records: the mentions of a chunk in the format in which they are stored with the chunk. A
//! record contains words and ranges of words, which depend on the chunk alone; `entities::mentions` finds them.
//! Function words of caseless scripts and Korean particles are recognised when a record is read, not when it is
//! written. This way their lists may change, and old records still give the same mentions as new ones.

use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::entities::caseless_function_words;
use crate::entities::korean_particles::korean_noun;
use crate::entities::words::{form_of, is_caseless};
use crate::error::{Error, Result};

/// Kind of mention: the title of the memory. Only the first chunk of a memory has it.
pub(crate) const TITLE: u8 = 1;
/// Kind of mention: capitalised words, or words of a caseless script.
pub(crate) const CAPITALISED: u8 = 2;
/// Kind of mention: words between quotation marks.
pub(crate) const QUOTED: u8 = 4;
/// Kind of mention: letters mixed with digits, snake_case, or an address.
pub(crate) const IDENTIFIER: u8 = 8;
/// Kind of mention: a calendar date.
pub(crate) const DATE: u8 = 16;
/// Kind of mention: a tag, or a phrase that preparation or a language model found.
pub(crate) const PHRASE: u8 = 32;
/// All kinds except the title. A chunk declares an entity if it has a mention of one of these kinds.
pub(crate) const DECLARED: u8 = CAPITALISED | QUOTED | IDENTIFIER | DATE | PHRASE;
/// Mark that is not a kind: the mention is written like a proper noun of its script. It may be part of a longer run of
/// such words.
pub(crate) const PROPER_NOUN: u8 = 64;

/// Maximum number of words of an entity.
pub(crate) const ENTITY_WORDS_MAX: usize = 7;
/// Maximum number of words of an entity in scripts without case, where any two words could be an entity.
const CASELESS_WORDS_MAX: usize = 2;
/// Maximum number of n-grams that all windows of a record give. A passage of a book has about 15 n-grams, a passage in
/// capitals has six per word. Each n-gram takes 50 bytes of memory.
const NGRAMS_MAX: usize = 256;
/// Version of the record format.
const VERSION: u8 = 1;

/// Flags of a stored word.
const IS_CONNECTOR: u8 = 1;
const HAS_FORM: u8 = 2;
const IS_FUNCTION_WORD: u8 = 4;

/// A mention of an entity in a chunk. It becomes a link if the entity is active (`entities::admissible_graph`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mention<'record> {
    /// Identifies the entity. Equal normalised words have equal hashes.
    pub(crate) hash: u64,
    /// Index of the mention's first word in the record.
    pub(crate) first: u16,
    /// Number of words.
    pub(crate) length: u8,
    /// Bits for the kinds of mention, and the bit `PROPER_NOUN`.
    pub(crate) marks: u8,
    /// Surface form.
    pub(crate) surface: &'record str,
}

/// Hash of a word's normalised form. It must never change: stored names of entities refer to the hashes of their words.
pub(crate) fn word_hash(form: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(form.as_bytes());
    hasher.finish()
}

/// Hash of a run of words, from the hash of the run without its last word (0 for none) and the hash of that word.
pub(crate) fn extend_hash(hash: u64, word: u64) -> u64 {
    // The finaliser of SplitMix64, so that collisions are as rare as for random numbers.
    let mut mixed = (hash.rotate_left(23) ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Hash of an entity, given as normalised words separated by spaces.
pub(crate) fn entity_hash(form: &str) -> u64 {
    form.split(' ').fold(0, |hash, word| extend_hash(hash, word_hash(word)))
}

/// A run of words in which each n-gram of up to `ENTITY_WORDS_MAX` words may be an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Index of its first word.
    pub(crate) first: usize,
    /// Number of words.
    pub(crate) count: usize,
    /// Whether the script has no case. Then n-grams have up to two words, and all of them count as declared.
    pub(crate) is_caseless: bool,
}

/// A run of words that is a mention as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Index of its first word.
    pub(crate) first: usize,
    /// Number of words.
    pub(crate) length: usize,
    /// `TITLE` or one of `DECLARED`.
    pub(crate) kind: u8,
    /// Normalised words of the entity, if they differ from the words of the text. Only dates have it.
    pub(crate) form: Option<String>,
}

/// Role of a word in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    /// Never the first or last word of an entity.
    Connector,
    /// Never an entity by itself, like "The" or "He".
    FunctionWord,
}

/// Builds a record. Call `word` for each word in order, then `finish`.
#[derive(Debug, Default)]
pub(crate) struct RecordWriter {
    words: Vec<u8>,
    count: usize,
    /// The surface forms of the words, and the text between them.
    blob: String,
}

impl RecordWriter {
    /// Adds a word. `between` is the text between the previous word of the same run and this word.
    pub(crate) fn word(&mut self, between: &str, surface: &str, form: &str, role: Role) {
        self.blob.push_str(between);
        self.blob.push_str(surface);
        let has_form = !surface.is_ascii() || !surface.eq_ignore_ascii_case(form);
        put(&mut self.words, between.len());
        put(&mut self.words, surface.len());
        let role_flag = match role {
            Role::Plain => 0,
            Role::Connector => IS_CONNECTOR,
            Role::FunctionWord => IS_FUNCTION_WORD,
        };
        self.words.push(role_flag + u8::from(has_form) * HAS_FORM);
        if has_form {
            put_text(&mut self.words, form);
        }
        self.count += 1;
    }

    /// Returns the bytes of the record. They are empty if the record has no words.
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

/// Appends a number as a variable-length integer: seven bits per byte, the lowest bits first.
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
    /// Whether it is a function word of a script without case, which is never the first or last word of an entity.
    is_caseless_function_word: bool,
    /// For a Korean noun with a particle: the noun's hash, and where the noun ends in the text of the record.
    noun: Option<(u64, usize)>,
}

impl StoredWord {
    /// Whether an entity of several words may begin or end with this word.
    fn may_begin_or_end(&self) -> bool {
        !self.is_connector && !self.is_caseless_function_word
    }
}

/// Reads records. Reusing one reader saves allocations.
#[derive(Default)]
pub(crate) struct RecordReader {
    words: Vec<StoredWord>,
    lowered: String,
}

impl RecordReader {
    /// Calls `each` for every mention of a record. `each` may get the same run of words twice with different marks.
    /// Fails with `Damaged` if the bytes are not a record.
    pub(crate) fn each_mention<'record>(
        &mut self,
        record: &'record [u8],
        each: impl FnMut(Mention<'record>),
    ) -> Result<()> {
        self.try_each(record, each)
            .ok_or_else(|| Error::Damaged("the stored entity mentions of a chunk are unreadable".to_owned()))
    }

    /// Like `each_mention`, but returns `None` if the bytes are not a record.
    fn try_each<'record>(&mut self, record: &'record [u8], mut each: impl FnMut(Mention<'record>)) -> Option<()> {
        if record.is_empty() {
            return Some(());
        }
        let mut bytes = Cursor { bytes: record, at: 0 };
        if bytes.byte()? != VERSION {
            return None;
        }
        let blob = self.read_words(&mut bytes)?;
        self.each_of_windows(&mut bytes, blob, &mut each)?;
        self.each_of_spans(&mut bytes, blob, &mut each)
    }

    /// Calls `each` for the n-grams of all windows.
    fn each_of_windows<'record>(
        &self,
        bytes: &mut Cursor<'record>,
        blob: &'record str,
        each: &mut impl FnMut(Mention<'record>),
    ) -> Option<()> {
        let mut ngrams = 0;
        for _ in 0..bytes.number()? {
            let first = bytes.number()?;
            let packed = bytes.number()?;
            let (count, is_caseless) = (packed / 2, packed % 2 == 1);
            let words = self.words.get(first..first.checked_add(count)?)?;
            let longest = if is_caseless { CASELESS_WORDS_MAX } else { ENTITY_WORDS_MAX };
            let marks = if is_caseless { CAPITALISED | PROPER_NOUN } else { PROPER_NOUN };
            for (start, word) in words.iter().enumerate().filter(|(_, word)| word.may_begin_or_end()) {
                let mut hash_before = 0;
                for (length, last) in (1u8..).zip(words[start..].iter().take(longest)) {
                    let (last_hash, end) = last.noun.unwrap_or((last.hash, last.end));
                    let may_end = if length == 1 { !word.is_function_word } else { last.may_begin_or_end() };
                    if may_end && ngrams < NGRAMS_MAX {
                        ngrams += 1;
                        let (hash, surface) = (extend_hash(hash_before, last_hash), blob.get(word.start..end)?);
                        each(Mention { hash, first: u16::try_from(first + start).ok()?, length, marks, surface });
                    }
                    // A Korean particle ends the entity.
                    if last.noun.is_some() {
                        break;
                    }
                    hash_before = extend_hash(hash_before, last.hash);
                }
            }
        }
        Some(())
    }

    fn each_of_spans<'record>(
        &self,
        bytes: &mut Cursor<'record>,
        blob: &'record str,
        each: &mut impl FnMut(Mention<'record>),
    ) -> Option<()> {
        for _ in 0..bytes.number()? {
            let first = bytes.number()?;
            let words = self.words.get(first..first.checked_add(bytes.number()?)?)?;
            let marks = bytes.byte()?;
            let form = bytes.text()?;
            let hash = match form {
                "" => words.iter().fold(0, |hash, word| extend_hash(hash, word.hash)),
                form => entity_hash(form),
            };
            let surface = blob.get(words.first()?.start..words.last()?.end)?;
            let (first, length) = (u16::try_from(first).ok()?, u8::try_from(words.len()).ok()?);
            // A quotation or tag that consists only of function words is not an entity. A title always is one.
            if marks & TITLE != 0 || !words.iter().all(|word| word.is_caseless_function_word) {
                each(Mention { hash, first, length, marks, surface });
            }
        }
        Some(())
    }

    /// Reads the words into `self.words` and returns the text of the record.
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
            let (mut is_caseless_function_word, mut noun) = (false, None);
            let hash = if flags & HAS_FORM != 0 {
                let form = words.text()?;
                if form.starts_with(is_caseless) {
                    noun = korean_noun(surface).map(|noun| (form_of(noun), start + noun.len()));
                    let is_listed_noun =
                        noun.as_ref().is_some_and(|(form, _)| caseless_function_words::is_caseless_function_word(form));
                    is_caseless_function_word =
                        caseless_function_words::is_caseless_function_word(form) || is_listed_noun;
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
            self.words.push(StoredWord {
                hash,
                start,
                end,
                is_connector,
                is_function_word,
                is_caseless_function_word,
                noun,
            });
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
