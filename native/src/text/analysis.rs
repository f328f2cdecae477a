//! Text analysis: turns documents and queries into terms by normalisation, tokenisation and stemming.
//! Counting the terms is left to `document_frequencies`, scoring to `bm25`.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

use crate::text::notations::{self, Named, Notation};

/// Maximum length of a term in bytes. Longer words are cut to it, in documents and in queries. Words of natural
/// languages are shorter; base64 data, for example, is longer.
const TERM_BYTES_MAX: usize = 128;

/// Version of the analysis, which is stored in the index. Raise it with every change of this file or `notations` that
/// produces different terms. An index that another version wrote is set aside and rebuilt.
pub(crate) const ANALYSIS_VERSION: &str = "analysis-3";
/// An earlier version, to which this one only added terms for other notations (`notations`). An index of that version
/// is still used: it finds the same as before with the same scores, and newly published texts get all terms.
pub(crate) const ANALYSIS_VERSION_WITHOUT_NOTATIONS: &str = "analysis-2";

/// Maximum number of distinct words of a query; further ones are ignored. Questions have tens of words, and each word
/// costs time, because its posting lists are read.
pub const QUERY_WORDS_MAX: usize = 64;

/// How the words of a document are stemmed: the name of a Snowball algorithm, or `None` for languages without a
/// stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stemming(Option<&'static str>);

impl Stemming {
    /// No stemming, for languages without a stemmer.
    pub const NONE: Stemming = Stemming(None);

    /// The stemming for a BCP 47 tag (`"de"`, `"pt-BR"`, `"und"`); only the primary subtag is used. Unknown and
    /// malformed tags give `NONE` instead of an error, because language detection is unreliable, and searches find a
    /// document without stemming, too.
    pub fn for_language(tag: &str) -> Stemming {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let known = STEMMERS.iter().find(|(subtag, _)| *subtag == primary);
        Stemming(known.map(|(_, algorithm)| algorithm.name()))
    }

    /// The name under which the text index stores this stemming; `from_name` reads it back.
    pub fn name(self) -> &'static str {
        self.0.unwrap_or("none")
    }

    /// The inverse of `name`; `None` for unknown names.
    pub fn from_name(name: &str) -> Option<Stemming> {
        if name == "none" {
            return Some(Stemming::NONE);
        }
        STEMMERS
            .iter()
            .map(|(_, algorithm)| algorithm.name())
            .find(|known| *known == name)
            .map(|known| Stemming(Some(known)))
    }

    fn stemmer(self) -> Option<Stemmer> {
        let name = self.0?;
        STEMMERS.iter().find(|(_, algorithm)| algorithm.name() == name).map(|(_, algorithm)| Stemmer::new(*algorithm))
    }
}

/// The Snowball stemmers by primary language subtag. Omits stemmers that the Snowball project no longer maintains or
/// that were not made for modern text.
const STEMMERS: &[(&str, Algorithm)] = &[
    ("ar", Algorithm::Arabic),
    ("ca", Algorithm::Catalan),
    ("cs", Algorithm::Czech),
    ("da", Algorithm::Danish),
    ("de", Algorithm::German),
    ("el", Algorithm::Greek),
    ("en", Algorithm::English),
    ("es", Algorithm::Spanish),
    ("et", Algorithm::Estonian),
    ("eu", Algorithm::Basque),
    ("fa", Algorithm::Persian),
    ("fi", Algorithm::Finnish),
    ("fr", Algorithm::French),
    ("ga", Algorithm::Irish),
    ("hi", Algorithm::Hindi),
    ("hu", Algorithm::Hungarian),
    ("hy", Algorithm::Armenian),
    ("id", Algorithm::Indonesian),
    ("it", Algorithm::Italian),
    ("lt", Algorithm::Lithuanian),
    ("nb", Algorithm::Norwegian),
    ("ne", Algorithm::Nepali),
    ("nl", Algorithm::Dutch),
    ("nn", Algorithm::Norwegian),
    ("no", Algorithm::Norwegian),
    ("pl", Algorithm::Polish),
    ("pt", Algorithm::Portuguese),
    ("ro", Algorithm::Romanian),
    ("ru", Algorithm::Russian),
    ("sr", Algorithm::Serbian),
    ("sv", Algorithm::Swedish),
    ("ta", Algorithm::Tamil),
    ("tr", Algorithm::Turkish),
    ("yi", Algorithm::Yiddish),
];

/// The distinct terms of one query word: its stems under each stemming that the index uses, and for a number also its
/// terms in other notations. The search treats them as a single term.
pub type WordVariants = Vec<String>;

/// The terms of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentTerms {
    /// Words in the order of the text, repetitions included, and then the terms of `notations`.
    pub terms: Vec<String>,
    /// Number of words, which is the length of the document in BM25.
    pub words: usize,
}

/// The terms of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerms {
    /// The words, in order of appearance.
    pub words: Vec<WordVariants>,
    /// Things in the query that have other notations. The search ignores those that no document contains.
    pub notations: Vec<QueryNotation>,
}

/// A number, time, code, power or emoji in a query, with the terms that the index may have for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryNotation {
    /// Its possible terms, which count as one word.
    pub variants: WordVariants,
    /// The words of the query that it consists of. If the index has the whole, a part that the index lacks does not
    /// lower scores.
    pub parts: Vec<WordVariants>,
    /// Whether the parts mean little without each other, such as the 1 and the 234,50 of "1 234,50".
    pub has_weak_parts: bool,
}

/// Maximum number of notations of a query that are looked up.
const QUERY_NOTATIONS_MAX: usize = 16;

/// Turns texts into terms, in this order:
///
/// 1. Unicode normalisation (NFKC) and lower case.
/// 2. Splitting into words with the ICU segmenter, which has dictionaries for Thai, Lao, Khmer and Burmese. Text in
///    Han, Kana or Hangul is split into bigrams and single characters.
/// 3. Stemming of words, by the language of the document.
/// 4. Folding of letters that people write interchangeably.
///
/// Stop words are kept, because removing them gained nothing (docs/measurements.md, "Word segmentation and stemming").
/// The section "Chinese, Japanese and Korean" there explains the bigrams and single characters.
#[derive(Debug, Clone, Copy)]
pub struct Analyzer {
    segmenter: WordSegmenterBorrowed<'static>,
}

impl Default for Analyzer {
    fn default() -> Self {
        Analyzer { segmenter: WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()) }
    }
}

impl Analyzer {
    /// The terms of a document.
    pub fn document_terms(&self, text: &str, stemming: Stemming) -> DocumentTerms {
        let stemmer = stemming.stemmer();
        let mut terms = Vec::with_capacity(text.len() / 5);
        self.for_each_token(&normalise(text), |token| terms.push(token.term(stemmer.as_ref())));
        let words = terms.len();
        for Notation { named, .. } in notations_of(text, false) {
            terms.push(Token::of_notation(&named, &named.term()).term(stemmer.as_ref()));
        }
        DocumentTerms { terms, words }
    }

    /// The terms of a query.
    pub fn query_terms(&self, text: &str, stemmings: &BTreeSet<Stemming>) -> QueryTerms {
        let words = self.query_words(text, stemmings);
        let stemmers: Vec<Option<Stemmer>> = stemmings.iter().map(|stemming| stemming.stemmer()).collect();
        let mut notations: Vec<QueryNotation> = Vec::new();
        for Notation { source, named } in notations_of(text, true) {
            let readings = named.readings();
            let stems = readings.iter().flat_map(|reading| {
                let token = Token::of_notation(&named, reading);
                stemmers.iter().map(move |stemmer| token.term(stemmer.as_ref()))
            });
            let variants: WordVariants = stems.collect::<BTreeSet<String>>().into_iter().collect();
            let is_known = |known: &WordVariants| known.contains(&variants[0]);
            if notations.len() == QUERY_NOTATIONS_MAX
                || words.iter().any(is_known)
                || notations.iter().any(|notation| is_known(&notation.variants))
            {
                continue;
            }
            let parts = self.query_words(&source, stemmings);
            notations.push(QueryNotation { variants, parts, has_weak_parts: named.has_weak_parts() });
        }
        QueryTerms { words, notations }
    }

    /// The distinct words of a query in order of appearance, at most `QUERY_WORDS_MAX`. Each is given as its variants
    /// under the given stemmings. Single characters of longer runs are put last, so that the limit removes them before
    /// the words of a long question.
    pub fn query_words(&self, text: &str, stemmings: &BTreeSet<Stemming>) -> Vec<WordVariants> {
        let stemmers: Vec<Option<Stemmer>> = stemmings.iter().map(|stemming| stemming.stemmer()).collect();
        let mut seen: FxHashSet<WordVariants> = FxHashSet::default();
        let mut words = Vec::new();
        let mut characters = Vec::new();
        self.for_each_token(&normalise(text), |token| {
            let list = if matches!(token, Token::Character(_)) { &mut characters } else { &mut words };
            if list.len() == QUERY_WORDS_MAX {
                return;
            }
            let mut stems: BTreeSet<String> = stemmers.iter().map(|stemmer| token.term(stemmer.as_ref())).collect();
            if let Token::Word(word) = token {
                stems.extend(notations::readings_of_number(word));
            }
            let variants: WordVariants = stems.into_iter().collect();
            // Words with equal stems under all stemmings ("run", "runs") count once.
            if seen.insert(variants.clone()) {
                list.push(variants);
            }
        });
        words.append(&mut characters);
        words.truncate(QUERY_WORDS_MAX);
        words
    }

    /// Calls `emit` for each token of a normalised text.
    fn for_each_token(&self, text: &str, mut emit: impl FnMut(Token<'_>)) {
        for (run, script) in script_runs(text) {
            if script != Script::Words {
                emit_grams(run, &mut emit);
                continue;
            }
            let mut start = 0;
            for end in self.segmenter.segment_str(run) {
                let segment = &run[start..end];
                // ICU's own word type is not used, because ICU4X 2.4 does not classify "मेरा" as a word.
                if segment.chars().any(char::is_alphanumeric) {
                    emit(Token::Word(segment));
                }
                start = end;
            }
        }
    }
}

/// A piece of text that becomes one term.
enum Token<'text> {
    /// A word that is stemmed.
    Word(&'text str),
    /// Two adjacent characters of a run in Han, Kana or Hangul, or a whole run of one character. Not stemmed.
    Gram(&'text str),
    /// One character of a run of several. Not stemmed.
    Character(&'text str),
}

impl<'text> Token<'text> {
    /// The token for a term of a notation.
    fn of_notation(named: &Named, term: &'text str) -> Token<'text> {
        if named.is_stemmed() { Token::Word(term) } else { Token::Gram(term) }
    }

    /// The term of the token: stemmed if it is a word and there is a stemmer.
    fn term(&self, stemmer: Option<&Stemmer>) -> String {
        match (self, stemmer) {
            (Token::Word(word), Some(stemmer)) => fold_letters(truncate(&stemmer.stem(truncate(word)))),
            (Token::Word(word), None) => fold_letters(truncate(word)),
            (Token::Gram(gram) | Token::Character(gram), _) => fold_letters(gram),
        }
    }
}

/// The notations in a text that was not normalised yet.
fn notations_of(text: &str, is_query: bool) -> Vec<Notation> {
    if !notations::may_be_in(text) {
        return Vec::new();
    }
    let marked = notations::mark_raised(text);
    let composed = if marked.is_ascii() || is_nfkc(&marked) { marked.into_owned() } else { marked.nfkc().collect() };
    let cased = if composed.is_ascii() { composed } else { normalise_characters(&composed) };
    notations::find(&cased, is_query)
}

/// Unicode normalisation (NFKC), lower case, and `normalise_characters`.
fn normalise(text: &str) -> String {
    let composed = if text.is_ascii() || is_nfkc(text) {
        text.to_lowercase()
    } else {
        text.nfkc().collect::<String>().to_lowercase()
    };
    if composed.is_ascii() { composed } else { normalise_characters(&composed) }
}

/// Replaces or removes characters that NFKC and lower-casing leave in the text, but that the segmenter and the stemmers
/// do not expect.
fn normalise_characters(text: &str) -> String {
    let mut normalised = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Typographic apostrophe: the stemmers know only the ASCII one.
            '\u{2019}' => normalised.push('\''),
            // Combining dot above: lower-casing turns the first letter of "İstanbul" into an i followed by this dot.
            '\u{307}' if normalised.ends_with('i') => {}
            // NFKC splits the vowel "am" of Thai and Lao into two characters, but the dictionaries contain it as one.
            '\u{E32}' if normalised.ends_with('\u{E4D}') => {
                normalised.pop();
                normalised.push('\u{E33}');
            }
            '\u{EB2}' if normalised.ends_with('\u{ECD}') => {
                normalised.pop();
                normalised.push('\u{EB3}');
            }
            c if is_invisible(c) || is_arabic_mark(c) => {}
            c => normalised.push(ascii_digit(c)),
        }
    }
    normalised
}

/// Whether a character occurs inside words, but is invisible and rarely typed: soft hyphens, joiners, direction marks
/// and variation selectors. Excludes the zero-width space, which separates words in Thai and Khmer, and the zero-width
/// non-joiner, which the Persian stemmer uses.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}'
        | '\u{61C}'
        | '\u{200D}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{E0100}'..='\u{E01EF}')
}

/// Whether a character is a tatweel, which only stretches a word, or an Arabic short vowel. Short vowels are written in
/// schoolbooks, but not in questions.
fn is_arabic_mark(c: char) -> bool {
    matches!(c, '\u{640}' | '\u{64B}'..='\u{652}' | '\u{670}')
}

/// The digit zero of each script that has its own decimal digits, ascending. The digits 1 to 9 follow each zero.
const DIGIT_ZEROS: &[char] = &[
    '\u{660}', '\u{6F0}', '\u{966}', '\u{9E6}', '\u{A66}', '\u{AE6}', '\u{B66}', '\u{BE6}', '\u{C66}', '\u{CE6}',
    '\u{D66}', '\u{E50}', '\u{ED0}', '\u{F20}', '\u{1040}', '\u{17E0}',
];

/// Converts a digit of any of these scripts to ASCII, so that "٢٠٢٥" and "2025" are the same term. Returns other
/// characters unchanged.
fn ascii_digit(c: char) -> char {
    if c < DIGIT_ZEROS[0] || c > '\u{17E9}' {
        return c;
    }
    let value =
        DIGIT_ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10));
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// Replaces letters that people write interchangeably by one of them. Runs after stemming, because stemmers distinguish
/// these letters.
fn fold_letters(term: &str) -> String {
    if term.is_ascii() {
        return term.to_owned();
    }
    let fold = |c: char| match c {
        'ё' => Some('е'),
        // Alef with madda, with hamza above or below, or with wasla becomes plain alef.
        '\u{622}' | '\u{623}' | '\u{625}' | '\u{671}' => Some('\u{627}'),
        // Devanagari: chandrabindu becomes anusvara, and nuktas are removed, as in Lucene's HindiNormalizer.
        '\u{901}' => Some('\u{902}'),
        '\u{93C}' => None,
        // Katakana becomes Hiragana: "ゴミ" and "ごみ" are the same term.
        '\u{30A1}'..='\u{30F6}' | '\u{30FD}' | '\u{30FE}' => char::from_u32(u32::from(c) - 0x60),
        _ => Some(c),
    };
    term.chars().filter_map(fold).collect()
}

/// Cuts a word to at most `TERM_BYTES_MAX` bytes.
fn truncate(word: &str) -> &str {
    &word[..word.floor_char_boundary(TERM_BYTES_MAX)]
}

/// Groups of scripts whose text is split into terms in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Kana and Han are written without spaces. They are split into bigrams and characters.
    HanOrKana,
    /// Words in Hangul include particles and endings ("서울에서", "서울의"). They are split into bigrams and characters.
    Hangul,
    /// All other scripts. They are split into the words that the segmenter finds.
    Words,
}

fn script_of(c: char) -> Script {
    match c {
        '\u{AC00}'..='\u{D7A3}' => Script::Hangul,
        c if is_kana(c) || is_han(c) => Script::HanOrKana,
        _ => Script::Words,
    }
}

/// Splits a text where the script changes, for example within "Python으로" and "iPhoneを".
fn script_runs(text: &str) -> impl Iterator<Item = (&str, Script)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let script = script_of(rest.chars().next()?);
        let end = rest.find(|c| script_of(c) != script).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        Some((run, script))
    })
}

/// Emits the bigrams of a run, and then each character that can be a word by itself: a Han character or a Korean
/// syllable. A run of one character is emitted as a single gram.
fn emit_grams(run: &str, mut emit: impl FnMut(Token<'_>)) {
    let starts: Vec<usize> = run.char_indices().map(|(start, _)| start).chain([run.len()]).collect();
    if let [start, end] = starts.as_slice() {
        return emit(Token::Gram(&run[*start..*end]));
    }
    for window in starts.windows(3) {
        emit(Token::Gram(&run[window[0]..window[2]]));
    }
    for (start, c) in run.char_indices().filter(|(_, c)| !is_kana(*c)) {
        emit(Token::Character(&run[start..start + c.len_utf8()]));
    }
}

/// Whether a character is in the Unicode blocks of Hiragana and Katakana, which include their marks. The middle dot is
/// excluded, because it separates words.
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}')
}

/// Whether a character is Han, including the extensions, the iteration mark and the zero. Bopomofo is not included, so
/// the segmenter splits it.
fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a document.
    fn terms(text: &str, language: &str) -> Vec<String> {
        let mut document = Analyzer::default().document_terms(text, Stemming::for_language(language));
        document.terms.truncate(document.words);
        document.terms
    }

    /// The terms of a document's notations, or its words if it has no notations.
    fn document_notations(text: &str) -> BTreeSet<String> {
        let DocumentTerms { terms, words } = Analyzer::default().document_terms(text, Stemming::NONE);
        let notations: BTreeSet<String> = terms[words..].iter().cloned().collect();
        if notations.is_empty() { terms.into_iter().collect() } else { notations }
    }

    /// The same for a query.
    fn query_notations(text: &str) -> BTreeSet<String> {
        let QueryTerms { words, notations } = Analyzer::default().query_terms(text, &BTreeSet::from([Stemming::NONE]));
        let notations: BTreeSet<String> = notations.into_iter().flat_map(|notation| notation.variants).collect();
        if notations.is_empty() { words.into_iter().flatten().collect() } else { notations }
    }

    fn is_found(document: &str, query: &str) -> bool {
        !document_notations(document).is_disjoint(&query_notations(query))
    }

    /// `texts` has pairs (text, all values that it may mean). Checks that a text finds another one exactly if both may
    /// mean the same value.
    fn check_found<Meaning: Ord>(texts: &[(String, BTreeSet<Meaning>)]) {
        let queries: Vec<BTreeSet<String>> = texts.iter().map(|(query, _)| query_notations(query)).collect();
        for (document, meant) in texts {
            let terms = document_notations(document);
            for ((query, asked), wanted) in texts.iter().zip(&queries) {
                let is_found = !terms.is_disjoint(wanted);
                assert_eq!(is_found, !meant.is_disjoint(asked), "{document:?} by {query:?}");
            }
        }
    }

    /// All ways to write a number.
    fn written_numbers(digits: &str, decimals: &str) -> Vec<String> {
        let grouped = |separator: &str, first: usize, other: usize| {
            let mut groups: Vec<&str> = Vec::new();
            let mut rest = digits;
            let mut length = first;
            while rest.len() > length {
                let (start, group) = rest.split_at(rest.len() - length);
                groups.insert(0, group);
                (rest, length) = (start, other);
            }
            groups.insert(0, rest);
            groups.join(separator)
        };
        let mut written = Vec::new();
        let separators =
            [(",", "."), (".", ","), (" ", ","), (" ", "."), ("'", "."), ("\u{202F}", ","), ("\u{A0}", ",")];
        for (thousands, decimal) in separators {
            for whole in [digits.to_owned(), grouped(thousands, 3, 3)] {
                written.push(if decimals.is_empty() { whole } else { format!("{whole}{decimal}{decimals}") });
            }
        }
        if decimals.is_empty() {
            written.push(grouped(",", 3, 2));
        } else {
            written.push(format!("{}.{decimals}", grouped(",", 3, 2)));
        }
        written
    }

    /// All values with two decimals that a text in one of the notations of `written_numbers` may mean.
    fn values_of(text: &str) -> BTreeSet<String> {
        let plain = text.replace(['\u{202F}', '\u{A0}'], " ");
        let mut values = BTreeSet::new();
        for (thousands, decimal) in [(',', '.'), ('.', ','), (' ', ','), (' ', '.'), ('\'', '.')] {
            let (whole, decimals) = plain.split_once(decimal).unwrap_or((plain.as_str(), ""));
            let digits: String = whole.chars().filter(|c| *c != thousands).collect();
            let is_number = digits.bytes().chain(decimals.bytes()).all(|byte| byte.is_ascii_digit());
            if is_number && written_numbers(&digits, decimals).contains(&text.to_owned()) {
                values.insert(format!("{digits}.{decimals:0<2}"));
            }
        }
        values
    }

    #[test]
    fn a_number_is_found_in_every_notation_and_no_other_number_is() {
        let mut chance = mneme_testing::Chance::new();
        for _ in 0..12 {
            let mut texts: Vec<(String, BTreeSet<String>)> = Vec::new();
            for _ in 0..4 {
                let mut digits: Vec<u8> = (0..3 + chance.below(7)).map(|_| b'1' + chance.below(9) as u8).collect();
                let decimals = ["", "5", "50", "07", "25"][chance.below(5)];
                for _ in 0..2 {
                    let whole = String::from_utf8(digits.clone()).expect("digits");
                    let written = written_numbers(&whole, decimals);
                    texts.extend(written.into_iter().map(|text| (text.clone(), values_of(&text))));
                    // The neighbour has two digits in another order.
                    let at = chance.below(digits.len() - 1);
                    digits.swap(at, at + 1);
                }
            }
            assert!(texts.iter().all(|(_, values)| !values.is_empty()), "{texts:?}");
            check_found(&texts);
        }
        assert!(!is_found("1,243.50", "1,234.50"));
    }

    #[test]
    fn a_time_of_day_is_found_in_every_notation_and_no_other_time_is() {
        let mut chance = mneme_testing::Chance::new();
        let mut texts: Vec<(String, BTreeSet<u32>)> = Vec::new();
        for _ in 0..14 {
            let (hour, minute) = (chance.below(24) as u32, [0, 5, 30, 45][chance.below(4)]);
            let exact = BTreeSet::from([hour * 60 + minute]);
            let (twelve, half) = ((hour + 11) % 12 + 1, if hour < 12 { "am" } else { "pm" });
            let (east, dotted) = if hour < 12 { ("午前", "a.m.") } else { ("午後", "p.m.") };
            let korean = if hour < 12 { "오전" } else { "오후" };
            texts.extend(
                [
                    format!("{twelve}:{minute:02} {half}"),
                    format!("{twelve}:{minute:02}{}", half.to_uppercase()),
                    format!("{twelve}.{minute:02} {dotted}"),
                    format!("{east}{twelve}時{minute}分"),
                    format!("{korean} {twelve}시 {minute}분"),
                ]
                .map(|text| (text, exact.clone())),
            );
            // Without am and pm, an hour before noon may be meant after noon, unless a zero leads it.
            let either = |hour: u32| match hour {
                1..12 => BTreeSet::from([hour * 60 + minute, (hour + 12) * 60 + minute]),
                _ => BTreeSet::from([hour * 60 + minute]),
            };
            texts.extend(
                [
                    format!("{hour}:{minute:02}"),
                    format!("{hour}.{minute:02} Uhr"),
                    format!("{hour} Uhr {minute:02}"),
                    format!("{hour}h{minute:02}"),
                    format!("{hour} h {minute:02}"),
                    format!("klo {hour}.{minute:02}"),
                ]
                .map(|text| (text, either(hour))),
            );
            let padded = if hour < 10 { exact } else { either(hour) };
            texts.extend(
                [format!("{hour:02}:{minute:02}"), format!("{hour:02}{minute:02} h")].map(|t| (t, padded.clone())),
            );
        }
        check_found(&texts);
    }

    #[test]
    fn a_code_is_found_with_any_separators_and_no_other_code_is() {
        let mut chance = mneme_testing::Chance::new();
        let mut texts: Vec<(String, BTreeSet<String>)> = Vec::new();
        for _ in 0..12 {
            let letters: String = (0..2 + chance.below(3)).map(|_| char::from(b'A' + chance.below(26) as u8)).collect();
            let (number, more) = (100 + chance.below(9_000), 10 + chance.below(90));
            let written = |separator: &str| {
                [format!("{letters}{separator}{number}"), format!("{letters}{separator}{number}{separator}{more}X")]
            };
            let code = |text: &str| text.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
            for text in ["-", "/", "_", ".", "\u{2011}", "\u{2013}", " "].into_iter().flat_map(written) {
                // A full stop between digits is a decimal point.
                if !text.contains(&format!("{number}.")) {
                    texts.push((text.clone(), BTreeSet::from([code(&text)])));
                    texts.push((text.to_lowercase(), BTreeSet::from([code(&text)])));
                }
            }
        }
        let queries: Vec<BTreeSet<String>> = texts.iter().map(|(query, _)| query_notations(query)).collect();
        for (document, meant) in &texts {
            let terms = document_notations(document);
            for ((query, asked), wanted) in texts.iter().zip(&queries) {
                let is_lower_with_spaces = document.contains(' ') && document.contains(char::is_lowercase);
                if !is_lower_with_spaces && meant == asked {
                    assert!(!terms.is_disjoint(wanted), "{document:?} by {query:?}");
                }
                let codes = |set: BTreeSet<String>| -> BTreeSet<String> {
                    set.into_iter().filter(|term| meant.contains(term) || asked.contains(term)).collect()
                };
                let shared = codes(&terms & wanted);
                let is_beginning = meant.iter().zip(asked).any(|(a, b)| a.starts_with(b) || b.starts_with(a));
                assert!(is_beginning || shared.is_empty(), "{document:?} by {query:?}: {shared:?}");
            }
        }
        for (joined, apart) in
            [("AB1234", "AB-1234"), ("AB1234", "AB 1234"), ("AB-1234", "AB1234"), ("AB 1234", "ab/1234")]
        {
            assert!(is_found(joined, apart), "{joined} by {apart}");
        }
        assert!(is_found("call 555-0142", "5550142"));
        for control in ["10-12", "1/2", "well-known", "in 1997", "ELECTION IN 1997", "1.5 kg", "The 1990s"] {
            let DocumentTerms { terms, words } = Analyzer::default().document_terms(control, Stemming::NONE);
            assert_eq!(&terms[words..], [""; 0], "{control}");
        }
    }

    #[test]
    fn powers_marks_and_indices_are_found_with_and_without_their_signs() {
        let all = |text: &str| -> BTreeSet<String> {
            Analyzer::default().document_terms(text, Stemming::NONE).terms.into_iter().collect()
        };
        for (document, query) in [
            ("10⁶ units", "10^6"),
            ("10^6 units", "10⁶"),
            ("10⁻⁶", "10^-6"),
            ("x_i", "xᵢ"),
            ("xᵢ", "x_i"),
            ("x_i", "x"),
            ("snake_case_name", "case"),
            ("m²", "m^2"),
            ("m^2", "m²"),
            ("H₂O", "H2O"),
            ("H_2O", "H₂O"),
            ("1997¹²", "1997"),
            ("1997[12]", "1997"),
            ("Smith²", "Smith"),
        ] {
            let QueryTerms { words, notations } =
                Analyzer::default().query_terms(query, &BTreeSet::from([Stemming::NONE]));
            let notations = notations.into_iter().map(|notation| notation.variants);
            let terms = all(document);
            assert!(
                words.into_iter().chain(notations).flatten().any(|term| terms.contains(&term)),
                "{document} by {query}"
            );
        }
        assert!(!is_found("10⁶", "10^5"));
        assert!(!is_found("10⁶", "106"));
    }

    #[test]
    fn emoji_are_terms_without_skin_tone_and_by_their_parts() {
        for (document, query) in [
            ("Party 🎉!", "🎉"),
            ("👍🏽", "👍"),
            ("👍", "👍🏿"),
            ("👩🏽\u{200d}🔬 in the lab", "👩\u{200d}🔬"),
            ("❤️", "❤"),
            ("off to 🇩🇪", "🇩🇪"),
            (
                "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
                "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            ),
            ("寿司🍣を食べた", "🍣"),
        ] {
            assert!(is_found(document, query), "{document} by {query}");
        }
        for (document, query) in
            [("🇩🇪🇫🇷", "🇪🇫"), ("🎂", "🎉"), ("\u{1F3F4}", "\u{1F3F4}\u{E0067}\u{E007F}"), ("a • b ■ c → d", "•")]
        {
            assert!(!is_found(document, query), "{document} by {query}");
        }
    }

    #[test]
    fn notations_add_terms_and_change_neither_words_nor_length() {
        let DocumentTerms { terms, words } =
            Analyzer::default().document_terms("Paid 1,234.50 at 3:30 pm for AB-12 🎉", Stemming::NONE);
        assert_eq!(terms[..words], ["paid", "1,234.50", "at", "3", "30", "pm", "for", "ab", "12"]);
        assert_eq!(terms[words..], ["1234.50", "15:30", "ab12", "🎉"]);
    }

    #[test]
    fn inflected_forms_of_a_word_have_the_same_stem() {
        assert_eq!(terms("The Connections were connected.", "en"), ["the", "connect", "were", "connect"]);
        assert_eq!(terms("Häuser", "de"), terms("Hauses", "de"));
        assert_eq!(terms("continuellement", "fr-CA"), terms("continuelle", "fr"));
        assert_eq!(terms("лошадями", "ru"), terms("лошадь", "ru"));
    }

    #[test]
    fn composed_and_decomposed_accents_give_the_same_term() {
        assert_eq!(terms("café", "und"), terms("cafe\u{301}", "und"));
        assert_eq!(terms("café", "und"), ["café"]);
    }

    #[test]
    fn compatibility_forms_are_folded() {
        assert_eq!(terms("ﬁle Ⅷ ＡＢＣ", "und"), ["file", "viii", "abc"]);
        assert_eq!(terms("ｶﾀｶﾅ", "ja"), terms("カタカナ", "ja"));
        assert_eq!(terms("İstanbul", "und"), ["istanbul"]);
        assert_eq!(terms("dog’s", "en"), terms("dog's", "en"));
    }

    #[test]
    fn thai_and_hindi_are_split_into_words() {
        assert_eq!(terms("ทุกสองสัปดาห์", "th"), ["ทุก", "สอง", "สัปดาห์"]);
        assert_eq!(terms("मेरा नाम राम है", "und"), ["मेरा", "नाम", "राम", "है"]);
    }

    #[test]
    fn han_and_hangul_become_bigrams_and_characters_kana_bigrams() {
        assert_eq!(terms("机器学习", "zh"), ["机器", "器学", "学习", "机", "器", "学", "习"]);
        assert_eq!(terms("私はRust", "ja"), ["私は", "私", "rust"]);
        assert_eq!(terms("水", "zh"), ["水"]);
        assert_eq!(terms("でーた・べーす", "ja"), ["でー", "ーた", "べー", "ーす"]);
        assert_eq!(terms("서울에서 강", "ko"), ["서울", "울에", "에서", "서", "울", "에", "서", "강"]);
    }

    #[test]
    fn text_is_split_where_the_script_changes() {
        assert_eq!(terms("Python으로", "ko"), ["python", "으로", "으", "로"]);
        assert_eq!(terms("iPhoneを5台", "ja"), ["iphone", "を", "5", "台"]);
        assert_eq!(terms("用GPT-4写", "zh"), ["用", "gpt", "4", "写"]);
        assert_eq!(terms("ใช้Python", "th"), ["ใช้", "python"]);
    }

    #[test]
    fn spelling_variants_of_a_word_give_the_same_term() {
        for (left, right) in [
            ("ゴミ", "ごみ"),
            ("ﾃﾞｰﾀｰ", "データー"),
            ("ヽヾ", "ゝゞ"),
            ("ё", "Е"),
            ("إجازة", "اجازة"),
            ("آسيا", "اسيا"),
            ("كـــتاب", "كتاب"),
            ("مُدَرِّسٌ", "مدرس"),
            ("ऊँची", "ऊंची"),
            ("फ़ीस", "फीस"),
            ("\u{958}लम", "कलम"),
            ("葛\u{E0100}飾", "葛飾"),
            ("Donau\u{AD}dampf", "donaudampf"),
            ("\u{200F}كتاب\u{200F}", "كتاب"),
            ("１２３", "123"),
            ("٢٠٢٥", "2025"),
            ("۲۰۲۵", "2025"),
            ("२०२५", "2025"),
            ("๒๕๖๘", "2568"),
            ("한글", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}"),
        ] {
            for language in ["und", "ja", "ru", "ar", "fa", "hi", "th"] {
                assert_eq!(terms(left, language), terms(right, language), "{left} in {language}");
                assert!(!terms(left, language).is_empty(), "{left} in {language}");
            }
        }
    }

    #[test]
    fn all_ten_digits_of_each_script_are_converted_and_no_neighbouring_characters() {
        for zero in DIGIT_ZEROS {
            let first = u32::from(*zero);
            let digits: Vec<char> = (first..first + 10).filter_map(char::from_u32).map(ascii_digit).collect();
            assert_eq!(digits, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'], "{zero}");
            for neighbour in [first - 1, first + 10].into_iter().filter_map(char::from_u32) {
                assert_eq!(ascii_digit(neighbour), neighbour);
            }
        }
    }

    #[test]
    fn the_thai_vowel_am_stays_one_letter() {
        assert_eq!(terms("น้ำท่วม", "th"), ["น้ำ", "ท่วม"]);
        assert_eq!(terms("ทำงาน", "th"), ["ทำงาน"]);
        assert_eq!(terms("น\u{E49}\u{E4D}\u{E32}ท่วม", "th"), terms("น้ำท่วม", "th"));
        assert_eq!(terms("ນ້ຳ", "lo"), ["ນ້ຳ"]);
    }

    #[test]
    fn single_characters_do_not_displace_words_of_a_long_question() {
        let han = |from: u32, count: u32| (from..from + count).filter_map(char::from_u32).collect::<String>();
        let query_words = |text: &str| Analyzer::default().query_words(text, &BTreeSet::from([Stemming::NONE]));
        let short = query_words(&han(0x4E00, 20));
        assert_eq!(short.len(), 19 + 20);
        assert_eq!(short[18], [han(0x4E12, 2)]);
        assert_eq!(short[19], [han(0x4E00, 1)]);
        let long = query_words(&format!("{} last", han(0x4E00, 50)));
        assert_eq!(long.len(), QUERY_WORDS_MAX);
        assert_eq!(long[49], ["last"]);
        assert!(query_words(&han(0x4E00, 200)).iter().all(|variants| variants[0].chars().count() == 2));
    }

    #[test]
    fn the_variants_of_a_query_word_are_its_stems_under_all_stemmings() {
        let stemmings = ["en", "de", "und"].into_iter().map(Stemming::for_language).collect();
        let words = Analyzer::default().query_words("running runs running", &stemmings);
        assert_eq!(words, [vec!["run", "running"], vec!["run", "runs"]]);
    }

    #[test]
    fn long_words_and_long_queries_are_bounded() {
        let blob = "ä".repeat(500);
        assert_eq!(terms(&blob, "und"), ["ä".repeat(64)]);
        let query: String = (0..500).map(|n| format!("w{n} ")).collect();
        let words = Analyzer::default().query_words(&query, &BTreeSet::from([Stemming::NONE]));
        assert_eq!(words.len(), QUERY_WORDS_MAX);
    }

    #[test]
    fn names_of_stemmings_survive_a_round_trip() {
        for (tag, _) in STEMMERS {
            let stemming = Stemming::for_language(tag);
            assert_ne!(stemming, Stemming::NONE, "{tag}");
            assert_eq!(Stemming::from_name(stemming.name()), Some(stemming));
        }
        assert_eq!(Stemming::from_name("none"), Some(Stemming::NONE));
        assert_eq!(Stemming::from_name("klingon"), None);
        assert_eq!(Stemming::for_language(""), Stemming::NONE);
    }
}
