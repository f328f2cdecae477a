//! How a text becomes terms, for documents and for queries alike.
//! Counting and scoring the terms is `text::index`' affair.

use std::collections::BTreeSet;

use frostem::{Algorithm, Stemmer};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use rustc_hash::FxHashSet;
use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Longer words are cut here, on both sides alike: no word of a language is longer, and base64 blobs are.
const TERM_BYTES_MAX: usize = 128;

/// Which way of making terms an index was written with: to be raised with every change of this file that gives a text
/// other terms, so that indexes of an older way are set aside and filled anew.
pub(crate) const ANALYSIS_VERSION: &str = "analysis-2";

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

/// Splits texts into terms: NFKC, lower case, ICU words (dictionaries for Thai, Lao, Khmer and Burmese), stems, and the
/// grams of Han, Kana and Hangul; last, spellings of one letter are folded. Stop words stay: dropping them gained
/// nothing (ARCHITECTURE.md, "Measured").
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
    /// stemmings. A group counts as one term when it is scored. At most `QUERY_WORDS_MAX` groups; single characters of
    /// longer runs come last, so that in a long question they take no word's place.
    pub fn query_groups(&self, text: &str, stemmings: &BTreeSet<Stemming>) -> Vec<Vec<String>> {
        let stemmers: Vec<Option<Stemmer>> = stemmings.iter().map(|stemming| stemming.stemmer()).collect();
        let mut seen: FxHashSet<Vec<String>> = FxHashSet::default();
        let mut groups = Vec::new();
        let mut characters = Vec::new();
        self.each_token(&normalise(text), |token| {
            let into = if matches!(token, Token::Character(_)) { &mut characters } else { &mut groups };
            if into.len() == QUERY_WORDS_MAX {
                return;
            }
            let variants: BTreeSet<String> = stemmers.iter().map(|stemmer| token.term(stemmer.as_ref())).collect();
            let group: Vec<String> = variants.into_iter().collect();
            // Words that share all their stems ("run", "runs") ask for the same thing once.
            if seen.insert(group.clone()) {
                into.push(group);
            }
        });
        groups.append(&mut characters);
        groups.truncate(QUERY_WORDS_MAX);
        groups
    }

    fn each_token(&self, text: &str, mut emit: impl FnMut(Token<'_>)) {
        for (run, script) in script_runs(text) {
            if script != Script::Words {
                each_gram(run, &mut emit);
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
    /// Two neighbours, or a run of one.
    Gram(&'text str),
    /// One of several in its run.
    Character(&'text str),
}

impl Token<'_> {
    fn term(&self, stemmer: Option<&Stemmer>) -> String {
        match (self, stemmer) {
            (Token::Word(word), Some(stemmer)) => folded(cut(&stemmer.stem(cut(word)))),
            (Token::Word(word), None) => folded(cut(word)),
            (Token::Gram(gram) | Token::Character(gram), _) => folded(gram),
        }
    }
}

/// NFKC and lower case, and what neither repairs (`repaired`).
fn normalise(text: &str) -> String {
    let composed = if text.is_ascii() || is_nfkc(text) {
        text.to_lowercase()
    } else {
        text.nfkc().collect::<String>().to_lowercase()
    };
    if composed.is_ascii() { composed } else { repaired(&composed) }
}

/// What stands between a text and the forms that segmenter and stemmers know.
fn repaired(text: &str) -> String {
    let mut sound = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // The typographic apostrophe: the stemmers know the plain one.
            '\u{2019}' => sound.push('\''),
            // The dot that lower-casing leaves over the i of "İstanbul".
            '\u{307}' if sound.ends_with('i') => {}
            // NFKC takes the Thai and Lao vowel am apart, and no dictionary knows it in two.
            '\u{E32}' if sound.ends_with('\u{E4D}') => {
                sound.pop();
                sound.push('\u{E33}');
            }
            '\u{EB2}' if sound.ends_with('\u{ECD}') => {
                sound.pop();
                sound.push('\u{EB3}');
            }
            c if is_unseen(c) || is_arabic_mark(c) => {}
            c => sound.push(ascii_digit(c)),
        }
    }
    sound
}

/// Characters inside of words that nobody sees or types: soft hyphens, joiners, marks of direction, variation
/// selectors. Not the zero-width space, which separates words in Thai and Khmer, nor the non-joiner, which the Persian
/// stemmer reads.
fn is_unseen(c: char) -> bool {
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

/// Tatweel, which only stretches a word, and the short vowels, which are written in schoolbooks and not in questions.
fn is_arabic_mark(c: char) -> bool {
    matches!(c, '\u{640}' | '\u{64B}'..='\u{652}' | '\u{670}')
}

/// The zeros of scripts with decimal digits of their own; the nine others follow each.
const ZEROS: &[char] = &[
    '\u{660}', '\u{6F0}', '\u{966}', '\u{9E6}', '\u{A66}', '\u{AE6}', '\u{B66}', '\u{BE6}', '\u{C66}', '\u{CE6}',
    '\u{D66}', '\u{E50}', '\u{ED0}', '\u{F20}', '\u{1040}', '\u{17E0}',
];

/// A digit of any script as one of ASCII, so that "٢٠٢٥" and "2025" are one number; other characters as they are.
fn ascii_digit(c: char) -> char {
    if c < ZEROS[0] || c > '\u{17E9}' {
        return c;
    }
    let value = ZEROS.iter().find_map(|zero| u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10));
    value.and_then(|value| char::from_digit(value, 10)).unwrap_or(c)
}

/// A term with the letters that people write one for the other as one. After stemming, since stemmers tell them apart.
fn folded(term: &str) -> String {
    if term.is_ascii() {
        return term.to_owned();
    }
    let fold = |c: char| match c {
        'ё' => Some('е'),
        // Alef with madda, hamza above or below, or wasla.
        '\u{622}' | '\u{623}' | '\u{625}' | '\u{671}' => Some('\u{627}'),
        // Devanagari: chandrabindu as anusvara, letters with nukta as those without, as Lucene's HindiNormalizer has
        // it.
        '\u{901}' => Some('\u{902}'),
        '\u{93C}' => None,
        // Katakana as Hiragana: "ゴミ" and "ごみ".
        '\u{30A1}'..='\u{30F6}' | '\u{30FD}' | '\u{30FE}' => char::from_u32(u32::from(c) - 0x60),
        _ => Some(c),
    };
    term.chars().filter_map(fold).collect()
}

fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(TERM_BYTES_MAX)]
}

/// How a run of characters becomes terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    /// Kana and Han, which are written without spaces.
    HanOrKana,
    /// Hangul, whose spaces separate words with their particles and endings: "서울에서", "서울의".
    Hangul,
    /// Every other: the segmenter's words.
    Words,
}

fn script_of(c: char) -> Script {
    match c {
        '\u{AC00}'..='\u{D7A3}' => Script::Hangul,
        c if is_kana(c) || is_han(c) => Script::HanOrKana,
        _ => Script::Words,
    }
}

/// Splits a text where the script changes, as it does within "Python으로" and "iPhoneを".
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

/// Every two neighbouring characters of a run, and each that can be a word alone: a Han character or a Korean syllable.
/// A run of one character is itself.
fn each_gram(run: &str, mut emit: impl FnMut(Token<'_>)) {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    if let [start, end] = starts.as_slice() {
        return emit(Token::Gram(&run[*start..*end]));
    }
    for window in starts.windows(3) {
        emit(Token::Gram(&run[window[0]..window[2]]));
    }
    for (at, c) in run.char_indices().filter(|(_, c)| !is_kana(*c)) {
        emit(Token::Character(&run[at..at + c.len_utf8()]));
    }
}

/// Hiragana and Katakana with their marks, without the middle dot, which separates. Blocks by the Unicode standard.
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}')
}

/// Han with its extensions, iteration mark and zero. Bopomofo is left to the words.
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
    fn han_and_hangul_become_bigrams_and_characters_kana_bigrams() {
        assert_eq!(terms("机器学习", "zh"), ["机器", "器学", "学习", "机", "器", "学", "习"]);
        assert_eq!(terms("私はRust", "ja"), ["私は", "私", "rust"]);
        assert_eq!(terms("水", "zh"), ["水"]);
        assert_eq!(terms("でーた・べーす", "ja"), ["でー", "ーた", "べー", "ーす"]);
        assert_eq!(terms("서울에서 강", "ko"), ["서울", "울에", "에서", "서", "울", "에", "서", "강"]);
    }

    #[test]
    fn words_of_another_script_end_where_it_does() {
        assert_eq!(terms("Python으로", "ko"), ["python", "으로", "으", "로"]);
        assert_eq!(terms("iPhoneを5台", "ja"), ["iphone", "を", "5", "台"]);
        assert_eq!(terms("用GPT-4写", "zh"), ["用", "gpt", "4", "写"]);
        assert_eq!(terms("ใช้Python", "th"), ["ใช้", "python"]);
    }

    #[test]
    fn spellings_of_one_word_are_one_term() {
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
    fn digits_are_folded_from_the_first_to_the_last_and_nothing_beside_them() {
        for zero in ZEROS {
            let first = u32::from(*zero);
            let digits: Vec<char> = (first..first + 10).filter_map(char::from_u32).map(ascii_digit).collect();
            assert_eq!(digits, ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'], "{zero}");
            for beside in [first - 1, first + 10].into_iter().filter_map(char::from_u32) {
                assert_eq!(ascii_digit(beside), beside);
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
    fn single_characters_take_no_words_place_in_a_long_question() {
        let han = |from: u32, count: u32| (from..from + count).filter_map(char::from_u32).collect::<String>();
        let groups = |text: &str| Analyzer::default().query_groups(text, &BTreeSet::from([Stemming::NONE]));
        let short = groups(&han(0x4E00, 20));
        assert_eq!(short.len(), 19 + 20);
        assert_eq!(short[18], [han(0x4E12, 2)]);
        assert_eq!(short[19], [han(0x4E00, 1)]);
        let long = groups(&format!("{} last", han(0x4E00, 50)));
        assert_eq!(long.len(), QUERY_WORDS_MAX);
        assert_eq!(long[49], ["last"]);
        assert!(groups(&han(0x4E00, 200)).iter().all(|group| group[0].chars().count() == 2));
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
