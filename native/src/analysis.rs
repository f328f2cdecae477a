//! How a text becomes terms, for documents and for queries alike.
//! Counting and scoring the terms is `text_index`' affair.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Longer words are cut here, on both sides alike: no word of a language is longer, and base64 blobs are.
const TERM_BYTES_MAX: usize = 128;

/// A query's further distinct words are ignored. Questions have tens of words; each costs a walk of its postings.
pub const QUERY_WORDS_MAX: usize = 64;

/// Which stemmer a document went through: a Snowball algorithm, or none for the languages that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stemming(Option<&'static str>);

impl Stemming {
    /// The stemming of languages without a stemmer.
    pub const NONE: Stemming = Stemming(None);

    /// The stemming for a BCP 47 tag (`"de"`, `"pt-BR"`, `"und"`); only the primary subtag counts. A tag that is
    /// unknown or malformed gets none: detection is a guess, and a document without stemming is still found.
    pub fn for_language(tag: &str) -> Stemming {
        let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let known = STEMMED.iter().find(|(subtag, _)| *subtag == primary);
        Stemming(known.map(|(_, algorithm)| algorithm.name()))
    }

    /// The name under which the text index remembers this stemming; `from_name` reads it back.
    pub fn name(self) -> &'static str {
        self.0.unwrap_or("none")
    }

    /// The inverse of `name`; `None` for a name that no version of this file has written.
    pub fn from_name(name: &str) -> Option<Stemming> {
        if name == "none" {
            return Some(Stemming::NONE);
        }
        STEMMED
            .iter()
            .map(|(_, algorithm)| algorithm.name())
            .find(|known| *known == name)
            .map(|known| Stemming(Some(known)))
    }

    fn stemmer(self) -> Option<Stemmer> {
        let name = self.0?;
        STEMMED.iter().find(|(_, algorithm)| algorithm.name() == name).map(|(_, algorithm)| Stemmer::new(*algorithm))
    }
}

/// Primary subtags with a Snowball stemmer that is maintained upstream and meant for modern text.
const STEMMED: &[(&str, Algorithm)] = &[
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

/// Splits texts into terms: NFKC, lower case, ICU words (dictionaries for Thai, Lao, Khmer and Burmese), stems, and
/// bigrams for runs of Han and Kana. Stop words stay: dropping them gained nothing (ARCHITECTURE.md, "Measured").
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
    /// The terms of a document in order, repetitions included; their number is the document's length for BM25.
    pub fn document_terms(&self, text: &str, stemming: Stemming) -> Vec<String> {
        let stemmer = stemming.stemmer();
        let mut terms = Vec::with_capacity(text.len() / 5);
        self.each_token(&normalise(text), |token| terms.push(token.term(stemmer.as_ref())));
        terms
    }

    /// One group per distinct query word, in order of appearance: the distinct stems that the word has under the given
    /// stemmings. A group counts as one term when it is scored. At most `QUERY_WORDS_MAX` groups.
    pub fn query_groups(&self, text: &str, stemmings: &BTreeSet<Stemming>) -> Vec<Vec<String>> {
        let stemmers: Vec<Option<Stemmer>> = stemmings.iter().map(|stemming| stemming.stemmer()).collect();
        let mut seen: FxHashSet<Vec<String>> = FxHashSet::default();
        let mut groups = Vec::new();
        self.each_token(&normalise(text), |token| {
            if groups.len() == QUERY_WORDS_MAX {
                return;
            }
            let variants: BTreeSet<String> = stemmers.iter().map(|stemmer| token.term(stemmer.as_ref())).collect();
            let group: Vec<String> = variants.into_iter().collect();
            // Words that share all their stems ("run", "runs") ask for the same thing once.
            if seen.insert(group.clone()) {
                groups.push(group);
            }
        });
        groups
    }

    fn each_token(&self, text: &str, mut emit: impl FnMut(Token<'_>)) {
        for (run, is_cjk) in cjk_runs(text) {
            if is_cjk {
                each_bigram(run, |gram| emit(Token::Gram(gram)));
                continue;
            }
            let mut start = 0;
            for end in self.segmenter.segment_str(run) {
                let segment = &run[start..end];
                // ICU's own word type is not used: 2.4 calls "मेरा" no word.
                if segment.chars().any(char::is_alphanumeric) {
                    emit(Token::Word(segment));
                }
                start = end;
            }
        }
    }
}

enum Token<'text> {
    Word(&'text str),
    Gram(&'text str),
}

impl Token<'_> {
    fn term(&self, stemmer: Option<&Stemmer>) -> String {
        match (self, stemmer) {
            (Token::Word(word), Some(stemmer)) => cut(&stemmer.stem(cut(word))).to_owned(),
            (Token::Word(word), None) => cut(word).to_owned(),
            (Token::Gram(gram), _) => (*gram).to_owned(),
        }
    }
}

/// NFKC and lower case, with two repairs that neither does: the typographic apostrophe becomes the plain one, which
/// the stemmers know, and the dot that lower-casing leaves over the i of "İstanbul" goes.
fn normalise(text: &str) -> String {
    let composed = if text.is_ascii() || is_nfkc(text) {
        text.to_lowercase()
    } else {
        text.nfkc().collect::<String>().to_lowercase()
    };
    if composed.is_ascii() { composed } else { composed.replace('\u{2019}', "'").replace("i\u{307}", "i") }
}

fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(TERM_BYTES_MAX)]
}

/// Splits a text where Han or Kana begin and end; the flag says which side a piece is on.
fn cjk_runs(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_cjk = is_han_or_kana(rest.chars().next()?);
        let end = rest.find(|c| is_han_or_kana(c) != is_cjk).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        Some((run, is_cjk))
    })
}

/// Every two neighbouring characters of a run; a run of one character is itself.
fn each_bigram(run: &str, mut emit: impl FnMut(&str)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    match starts.as_slice() {
        [start, end] => emit(&run[*start..*end]),
        _ => starts.windows(3).for_each(|window| emit(&run[window[0]..window[2]])),
    }
}

/// The scripts that are written without spaces and indexed by bigrams. Blocks by the Unicode standard: iteration marks,
/// Hiragana, Katakana (without the middle dot, which separates), Bopomofo is left to the words, Han with its extensions.
fn is_han_or_kana(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{309F}'
        | '\u{30A1}'..='\u{30FA}'
        | '\u{30FC}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, language: &str) -> Vec<String> {
        Analyzer::default().document_terms(text, Stemming::for_language(language))
    }

    #[test]
    fn words_of_each_language_meet_their_inflected_forms() {
        assert_eq!(terms("The Connections were connected.", "en"), ["the", "connect", "were", "connect"]);
        assert_eq!(terms("Häuser", "de"), terms("Hauses", "de"));
        assert_eq!(terms("continuellement", "fr-CA"), terms("continuelle", "fr"));
        assert_eq!(terms("лошадями", "ru"), terms("лошадь", "ru"));
    }

    #[test]
    fn composed_and_decomposed_accents_are_one_word() {
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
    fn chinese_and_japanese_become_bigrams_and_single_characters_stay() {
        assert_eq!(terms("机器学习", "zh"), ["机器", "器学", "学习"]);
        assert_eq!(terms("私はRust", "ja"), ["私は", "rust"]);
        assert_eq!(terms("水", "zh"), ["水"]);
        assert_eq!(terms("データ・ベース", "ja"), ["デー", "ータ", "ベー", "ース"]);
    }

    #[test]
    fn a_query_word_asks_for_all_its_stems_as_one_group() {
        let stemmings = ["en", "de", "und"].into_iter().map(Stemming::for_language).collect();
        let groups = Analyzer::default().query_groups("running runs running", &stemmings);
        assert_eq!(groups, [vec!["run", "running"], vec!["run", "runs"]]);
    }

    #[test]
    fn long_words_and_long_queries_are_bounded() {
        let blob = "ä".repeat(500);
        assert_eq!(terms(&blob, "und"), ["ä".repeat(64)]);
        let query: String = (0..500).map(|n| format!("w{n} ")).collect();
        let groups = Analyzer::default().query_groups(&query, &BTreeSet::from([Stemming::NONE]));
        assert_eq!(groups.len(), QUERY_WORDS_MAX);
    }

    #[test]
    fn names_of_stemmings_survive_a_round_trip() {
        for (tag, _) in STEMMED {
            let stemming = Stemming::for_language(tag);
            assert_ne!(stemming, Stemming::NONE, "{tag}");
            assert_eq!(Stemming::from_name(stemming.name()), Some(stemming));
        }
        assert_eq!(Stemming::from_name("none"), Some(Stemming::NONE));
        assert_eq!(Stemming::from_name("klingon"), None);
        assert_eq!(Stemming::for_language(""), Stemming::NONE);
    }
}
