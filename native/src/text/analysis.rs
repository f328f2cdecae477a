//! Text analysis: turns documents and queries into terms by normalisation, tokenisation and stemming.
//! Counting the terms is left to `document_frequencies`, scoring to `bm25`.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Maximum length of a term in bytes. Longer words are cut to it, in documents and in queries. Words of natural
/// languages are shorter; base64 data, for example, is longer.
const TERM_BYTES_MAX: usize = 128;

/// Version of the analysis, which is stored in the index. Raise it with every change of this file that produces
/// different terms. An index that another version wrote is set aside and rebuilt.
pub(crate) const ANALYSIS_VERSION: &str = "analysis-2";

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

/// The distinct terms that one query word gives when it is stemmed in each way that the index uses. The search treats
/// them as a single term.
pub type WordVariants = Vec<String>;

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
    /// The terms of a document in the order of the text, repetitions included. The number of terms is the length of the
    /// document in BM25.
    pub fn document_terms(&self, text: &str, stemming: Stemming) -> Vec<String> {
        let stemmer = stemming.stemmer();
        let mut terms = Vec::with_capacity(text.len() / 5);
        self.for_each_token(&normalise(text), |token| terms.push(token.term(stemmer.as_ref())));
        terms
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
            let stems: BTreeSet<String> = stemmers.iter().map(|stemmer| token.term(stemmer.as_ref())).collect();
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

impl Token<'_> {
    /// The term of the token: stemmed if it is a word and there is a stemmer.
    fn term(&self, stemmer: Option<&Stemmer>) -> String {
        match (self, stemmer) {
            (Token::Word(word), Some(stemmer)) => fold_letters(truncate(&stemmer.stem(truncate(word)))),
            (Token::Word(word), None) => fold_letters(truncate(word)),
            (Token::Gram(gram) | Token::Character(gram), _) => fold_letters(gram),
        }
    }
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

    fn terms(text: &str, language: &str) -> Vec<String> {
        Analyzer::default().document_terms(text, Stemming::for_language(language))
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
