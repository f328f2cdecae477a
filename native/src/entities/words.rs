//! How a text becomes the words that names are made of: their normalised form, how they are written, and what stands
//! between them. Which runs of words are names is `entities::mentions`' affair.

use std::sync::LazyLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Longer forms are cut here: none is, of words of `SURFACE_BYTES_MAX`, so that different words stay different.
const WORD_BYTES_MAX: usize = 1_024;

/// A word that is written with more bytes is part of no name.
pub(crate) const SURFACE_BYTES_MAX: usize = 128;

/// How a word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// With an upper-case letter, or Latin letters amid Han, Kana or Hangul: such words stand out.
    Capital,
    /// Digits alone.
    Digits,
    /// Of a script without case, two characters or more.
    Caseless,
    /// Anything else.
    Lower,
}

/// What stands before a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// A blank, a hyphen, the dot of an abbreviation: the same name may go on.
    Join,
    /// A comma, a colon, a bracket, a line's end: another name begins, if any.
    Soft,
    /// A sentence's end, a paragraph's.
    Hard,
}

/// A word of a text.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// Where it begins in the text, in bytes.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
    /// NFKD without combining marks, lower case, at most `WORD_BYTES_MAX` bytes.
    pub(crate) form: String,
    pub(crate) shape: Shape,
    /// What stands before it.
    pub(crate) gap: Gap,
    /// Whether a capital says nothing here: at the start of a sentence, a line or a quotation.
    pub(crate) starts_sentence: bool,
}

/// Cuts texts into words. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordCutter {
    segmenter: WordSegmenterBorrowed<'static>,
}

impl Default for WordCutter {
    fn default() -> Self {
        WordCutter { segmenter: WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()) }
    }
}

/// What was seen since the last word.
struct Between {
    gap: Gap,
    starts_sentence: bool,
    lines: u32,
}

impl WordCutter {
    /// The first `most` words of a text, in order. Linear in the text.
    pub(crate) fn words(&self, text: &str, most: usize) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        let mut between = Between { gap: Gap::Hard, starts_sentence: true, lines: 0 };
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            if words.len() >= most {
                break;
            }
            if !first.is_alphanumeric() {
                let next = text[at + first.len_utf8()..].chars().next();
                if first == '&' && between.gap < Gap::Hard {
                    push(&mut words, at, at + 1, "and".to_owned(), Shape::Lower, &mut between);
                } else {
                    between.see(first, next, words.last(), text);
                }
                at += first.len_utf8();
            } else if is_caseless(first) {
                let end = run_end(text, at, |c| is_caseless(c) || is_combining_mark(c) || is_joiner(c));
                self.cut_caseless(text, at, end, &mut between, &mut words);
                at = end;
            } else {
                let (end, next) = cased_word_end(text, at);
                let surface = &text[at..end];
                let shape = shape_of(surface, text[..at].chars().next_back(), text[next..].chars().next());
                push(&mut words, at, end, form_of(surface), shape, &mut between);
                at = next;
            }
        }
        words.truncate(most);
        words
    }

    fn cut_caseless(&self, text: &str, start: usize, end: usize, between: &mut Between, words: &mut Vec<Word>) {
        let mut at = start;
        while at < end {
            let is_katakana = text[at..].chars().next().is_some_and(is_katakana);
            let piece_end = run_end(&text[..end], at, |c| is_katakana == crate::entities::words::is_katakana(c));
            if is_katakana {
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
    /// Takes a character that is no part of a word into account; `next` follows it.
    fn see(&mut self, c: char, next: Option<char>, last: Option<&Word>, text: &str) {
        let goes_on = next.is_some_and(char::is_alphanumeric);
        let (gap, starts_sentence) = match c {
            '\n' => {
                self.lines += 1;
                (if self.lines > 1 { Gap::Hard } else { Gap::Soft }, true)
            }
            '.' if goes_on || last.is_some_and(|word| is_abbreviation(word, text)) => (Gap::Join, false),
            '.' | '!' | '?' | '…' | '。' | '！' | '？' | '।' | '؟' | '۔' | '|' | '•' | '·' => {
                (Gap::Hard, true)
            }
            ';' | '；' | '*' | '#' | '>' | '=' | '<' => (Gap::Hard, true),
            ':' | '：' | '“' | '„' | '«' | '»' | '‹' | '「' | '『' | '《' | '‘' => (Gap::Soft, true),
            '"' => (Gap::Soft, goes_on),
            '-' | '‐' | '‑' | '_' | '@' | '\'' | '’' | '・' | '\u{ad}' => (Gap::Join, false),
            c if c.is_whitespace() || is_combining_mark(c) || c.is_control() => (Gap::Join, false),
            _ => (Gap::Soft, false),
        };
        self.gap = self.gap.max(gap);
        self.starts_sentence |= starts_sentence;
    }
}

/// Initials and titles of persons, after which a dot ends no sentence.
fn is_abbreviation(word: &Word, text: &str) -> bool {
    static KNOWN: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        "st dr mr mrs ms prof sr jr gen col capt lt sgt rev hon sen gov no nr vol mt ft bros vs hl ste mme mlle hr fr sig"
            .split(' ')
            .collect()
    });
    let is_initial = word.shape == Shape::Capital && text[word.start..word.end].chars().nth(1).is_none();
    is_initial || (word.shape == Shape::Capital && KNOWN.contains(word.form.as_str()))
}

/// Where a word of a cased script or of digits ends, and where reading goes on: behind a possessive `'s`.
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

/// What French, Italian and their like write before an apostrophe: a word of its own.
fn is_elided(surface: &str) -> bool {
    const ELIDED: &[&str] =
        &["l", "d", "j", "m", "t", "s", "n", "c", "qu", "un", "dell", "nell", "all", "sull", "dall", "jusqu", "lorsqu"];
    surface.len() <= 6 && ELIDED.contains(&surface.to_lowercase().as_str())
}

fn shape_of(surface: &str, before: Option<char>, after: Option<char>) -> Shape {
    let is_amid_caseless = || before.is_some_and(is_east_asian) || after.is_some_and(is_east_asian);
    // "I'm", "I’ll": no names.
    let is_contraction = surface.starts_with('I') && surface[1..].starts_with(['\'', '’']);
    if surface.len() > SURFACE_BYTES_MAX || is_contraction {
        Shape::Lower
    } else if surface.chars().any(char::is_uppercase) {
        Shape::Capital
    } else if surface.chars().all(char::is_numeric) {
        Shape::Digits
    } else if surface.len() > 1 && is_amid_caseless() {
        Shape::Capital
    } else {
        Shape::Lower
    }
}

/// A word as names are compared: NFKD, without the marks that Latin, Greek, Cyrillic, Hebrew and Arabic writing may
/// leave out (other scripts' marks are vowels and consonants), lower case, without apostrophes, cut to 64 bytes.
pub(crate) fn form_of(surface: &str) -> String {
    let mut form = if surface.is_ascii() {
        surface.to_ascii_lowercase()
    } else {
        let bare: String = surface.nfkd().filter(|c| !is_optional_mark(*c)).collect();
        // Lower-casing adds a dot over the i of "İ".
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

fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..].find(|c| !belongs(c)).map_or(text.len(), |length| start + length)
}

/// Whether a letter's script knows no capitals. Georgian has them for headlines only.
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
