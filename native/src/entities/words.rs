//! Splits text into words for entity mentions. Each word has a normalised form, a shape (capital, digits, …), and the
//! gap between it and the word before.
//! `entities::mentions` decides which n-grams of words are entities.

use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::entities::initials::{begins_sentence, is_designator, is_letter, is_unit_symbol};

/// Maximum number of bytes of a normalised form. Longer ones are truncated. Words of up to `SURFACE_BYTES_MAX` bytes
/// reach it only with ligatures that stand for whole phrases, such as U+FDFA.
const WORD_BYTES_MAX: usize = 1_024;

/// Maximum number of bytes of a surface form. A longer word is never part of an entity.
pub(crate) const SURFACE_BYTES_MAX: usize = 128;

/// Class of characters of a word, as far as it matters for entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Contains an upper-case letter, or has letters with case next to Han, Kana or Hangul. Never "I'm", an overlong
    /// word or the symbol of a unit.
    Capital,
    /// Only digits.
    Digits,
    /// Two characters or more of a script without case, but not only hiragana.
    Caseless,
    /// Anything else.
    Lower,
}

/// Strength of the boundary before a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// A space, a hyphen or the dot of an abbreviation. An entity may continue after it.
    Join,
    /// A comma, a colon, a bracket or a line break. An entity ends before it.
    Soft,
    /// The end of a sentence or paragraph.
    Hard,
}

/// A word of a text.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// Start in the text, in bytes.
    pub(crate) start: usize,
    /// End in the text, in bytes, exclusive.
    pub(crate) end: usize,
    /// Normalised by `form_of`.
    pub(crate) form: String,
    pub(crate) shape: Shape,
    /// The boundary before the word.
    pub(crate) gap: Gap,
    /// Whether the word begins a sentence, a line or a quotation. There, a capital letter does not indicate a name.
    pub(crate) starts_sentence: bool,
}

/// Splits text into words. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordTokeniser {
    segmenter: WordSegmenterBorrowed<'static>,
}

impl Default for WordTokeniser {
    fn default() -> Self {
        WordTokeniser { segmenter: WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()) }
    }
}

/// Summary of the characters since the last word.
struct Between {
    gap: Gap,
    starts_sentence: bool,
    lines: u32,
}

impl WordTokeniser {
    /// Returns the first `limit` words of a text, in order. Takes linear time.
    pub(crate) fn words(&self, text: &str, limit: usize) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        let mut between = Between { gap: Gap::Hard, starts_sentence: true, lines: 0 };
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            if words.len() >= limit {
                break;
            }
            if !first.is_alphanumeric() {
                let next = text[at + first.len_utf8()..].chars().next();
                if first == '&' && between.gap < Gap::Hard {
                    push(&mut words, at, at + 1, "and".to_owned(), Shape::Lower, &mut between);
                } else {
                    between.add(first, next, &words, text, at);
                }
                at += first.len_utf8();
            } else if is_caseless(first) {
                let end = run_end(text, at, |c| is_caseless(c) || is_combining_mark(c) || is_joiner(c));
                self.add_caseless(text, at, end, &mut between, &mut words);
                at = end;
            } else {
                let (end, next) = cased_word_end(text, at);
                let surface = &text[at..end];
                let shape = if is_unit_symbol(text, at, end, number_before(&words)) {
                    Shape::Lower
                } else {
                    shape_of(surface, text[..at].chars().next_back(), text[next..].chars().next())
                };
                push(&mut words, at, end, form_of(surface), shape, &mut between);
                at = next;
            }
        }
        words.truncate(limit);
        words
    }

    /// Adds the words of a run of characters without case. Each run of katakana is one word; the dictionary of the
    /// segmenter splits the rest.
    fn add_caseless(&self, text: &str, start: usize, end: usize, between: &mut Between, words: &mut Vec<Word>) {
        let mut at = start;
        while at < end {
            let starts_with_katakana = text[at..].chars().next().is_some_and(is_katakana);
            let piece_end = run_end(&text[..end], at, |c| starts_with_katakana == is_katakana(c));
            if starts_with_katakana {
                let shape = if text[at..piece_end].chars().nth(1).is_some() { Shape::Caseless } else { Shape::Lower };
                push(words, at, piece_end, form_of(&text[at..piece_end]), shape, between);
            } else {
                let mut from = at;
                for break_at in self.segmenter.segment_str(&text[at..piece_end]).skip(1) {
                    let surface = &text[from..at + break_at];
                    let is_name_like = surface.chars().nth(1).is_some() && !surface.chars().all(is_hiragana);
                    let shape = if is_name_like { Shape::Caseless } else { Shape::Lower };
                    push(words, from, at + break_at, form_of(surface), shape, between);
                    from = at + break_at;
                }
            }
            at = piece_end;
        }
    }
}

fn push(words: &mut Vec<Word>, start: usize, end: usize, form: String, shape: Shape, between: &mut Between) {
    if !form.is_empty() {
        let Between { gap, starts_sentence, .. } = *between;
        words.push(Word { start, end, form, shape, gap, starts_sentence });
        *between = Between { gap: Gap::Join, starts_sentence: false, lines: 0 };
    }
}

impl Between {
    /// Adds the character at `at`, which is not part of a word. `next` is the character after it, `words` are those
    /// before it.
    fn add(&mut self, c: char, next: Option<char>, words: &[Word], text: &str, at: usize) {
        let is_before_word = next.is_some_and(char::is_alphanumeric);
        let (gap, starts_sentence) = match c {
            '\n' => {
                self.lines += 1;
                (if self.lines > 1 { Gap::Hard } else { Gap::Soft }, true)
            }
            '.' if is_before_word || is_abbreviated(words, text, at) => (Gap::Join, false),
            '.' | '!' | '?' | '…' | '。' | '！' | '？' | '।' | '؟' | '۔' | '|' | '•' | '·' => {
                (Gap::Hard, true)
            }
            ';' | '；' | '*' | '#' | '>' | '=' | '<' => (Gap::Hard, true),
            ':' | '：' | '“' | '„' | '«' | '»' | '‹' | '「' | '『' | '《' | '‘' => (Gap::Soft, true),
            '"' => (Gap::Soft, is_before_word),
            '-' | '‐' | '‑' | '_' | '@' | '\'' | '’' | '・' | '\u{ad}' => (Gap::Join, false),
            c if c.is_whitespace() || is_combining_mark(c) || c.is_control() => (Gap::Join, false),
            _ => (Gap::Soft, false),
        };
        self.gap = self.gap.max(gap);
        self.starts_sentence |= starts_sentence;
    }
}

/// Place of the last word if it is a number.
fn number_before(words: &[Word]) -> Option<std::ops::Range<usize>> {
    words.last().filter(|word| word.shape == Shape::Digits).map(|word| word.start..word.end)
}

/// Whether the last word, a letter, belongs to the one before it, as in "plan B".
pub(crate) fn is_designated(words: &[Word]) -> bool {
    let [.., before, letter] = words else { return false };
    letter.gap == Gap::Join && is_designator(&before.form)
}

/// Whether the last word is an initial or a common abbreviation, so that the dot at `dot` does not end a sentence.
fn is_abbreviated(words: &[Word], text: &str, dot: usize) -> bool {
    static ABBREVIATIONS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        "st dr mr mrs ms prof sr jr gen col capt lt sgt rev hon sen gov no nr vol mt ft bros vs hl ste mme mlle hr fr sig"
            .split(' ')
            .collect()
    });
    let Some(word) = words.last().filter(|word| word.shape == Shape::Capital) else { return false };
    let is_initial =
        is_letter(&text[word.start..word.end]) && !is_designated(words) && !begins_sentence(&text[dot + 1..]);
    is_initial || ABBREVIATIONS.contains(word.form.as_str())
}

/// Returns the end of a word of letters with case or of digits, and the position where splitting continues. The two
/// differ after a possessive `'s`, which is dropped.
fn cased_word_end(text: &str, start: usize) -> (usize, usize) {
    let mut end = start;
    loop {
        end = run_end(text, end, |c| (c.is_alphanumeric() && !is_caseless(c)) || is_combining_mark(c));
        let mut after = text[end..].chars();
        let Some(apostrophe) = after.next().filter(|c| matches!(c, '\'' | '’')) else { return (end, end) };
        let behind = end + apostrophe.len_utf8();
        if !after.next().is_some_and(|c| c.is_alphabetic() && !is_caseless(c)) || is_elided(&text[start..end]) {
            return (end, end);
        }
        let part_end = run_end(text, behind, |c| (c.is_alphanumeric() && !is_caseless(c)) || is_combining_mark(c));
        if matches!(&text[behind..part_end], "s" | "S") {
            return (end, part_end);
        }
        end = behind;
    }
}

/// Whether the text before an apostrophe is a word of its own in French, Italian or a similar language, like "l'".
fn is_elided(surface: &str) -> bool {
    const ELIDED: &[&str] =
        &["l", "d", "j", "m", "t", "s", "n", "c", "qu", "un", "dell", "nell", "all", "sull", "dall", "jusqu", "lorsqu"];
    surface.len() <= 6 && ELIDED.contains(&surface.to_lowercase().as_str())
}

fn shape_of(surface: &str, before: Option<char>, after: Option<char>) -> Shape {
    let is_beside_east_asian = || before.is_some_and(is_east_asian) || after.is_some_and(is_east_asian);
    // "I'm" and "I’ll" are not entities, despite the capital.
    let is_contraction = surface.starts_with('I') && surface[1..].starts_with(['\'', '’']);
    if surface.len() > SURFACE_BYTES_MAX || is_contraction {
        Shape::Lower
    } else if surface.chars().any(char::is_uppercase) {
        Shape::Capital
    } else if surface.chars().all(char::is_numeric) {
        Shape::Digits
    } else if surface.len() > 1 && is_beside_east_asian() {
        Shape::Capital
    } else {
        Shape::Lower
    }
}

/// Normalised form of a word, for comparisons: NFKD, lower case, without apostrophes, and without the marks that Latin,
/// Greek, Cyrillic, Hebrew and Arabic text may omit. Marks of other scripts are vowels and consonants, so they are not
/// removed. The form is truncated to `WORD_BYTES_MAX` bytes.
pub(crate) fn form_of(surface: &str) -> String {
    let mut form = if surface.is_ascii() {
        surface.to_ascii_lowercase()
    } else {
        let bare: String = surface.nfkd().filter(|c| !is_optional_mark(*c)).collect();
        // Lower-casing "İ" adds a combining dot above.
        bare.to_lowercase().chars().filter(|c| !is_optional_mark(*c)).collect()
    };
    form.retain(|c| !matches!(c, '\'' | '’'));
    form.truncate(form.floor_char_boundary(WORD_BYTES_MAX));
    form
}

fn is_optional_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}'
        | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6ed}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}' | '\u{200c}' | '\u{200d}')
}

/// Returns the end of the run of characters that begins at `start` and for which `belongs` is true.
fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..].find(|c| !belongs(c)).map_or(text.len(), |length| start + length)
}

/// Whether a character is a letter of a script without case. Georgian counts as one: it has capitals only in headlines.
pub(crate) fn is_caseless(c: char) -> bool {
    !c.is_ascii()
        && c.is_alphabetic()
        && (!(c.is_lowercase() || c.is_uppercase()) || matches!(c, '\u{10d0}'..='\u{10ff}'))
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30fe}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

fn is_hiragana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30fc}')
}

fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}
