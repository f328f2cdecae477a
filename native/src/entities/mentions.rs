//! Which names a chunk speaks of, by how they are written: no model, one pass, any language.
//!
//! | Kind | What |
//! |---|---|
//! | title | the memory's title, also without a "(…)" at its end, and a name before a comma in it |
//! | capitalised | the longest run of capitalised words; words of scripts without case that are not grammar, and pairs of them |
//! | quoted | up to seven words between quotation marks, as titles are |
//! | identifier | letters mixed with digits, snake_case, addresses |
//! | date | a day, in one form for all ways of writing it |
//! | phrase | what a tag, an extraction or a language model named, where the chunk says it |
//!
//! Which of them are linked is decided when a question comes (`entities::scope`); here is what the chunk itself says.

use rustc_hash::FxHashSet;

use crate::entities::dates::{date_at, is_month};
use crate::entities::function_words::{begins_names, is_function_word, joins_names, parts_names};
use crate::entities::grammar_words::{is_grammar_word, korean_noun};
use crate::entities::record::{
    CAPITALISED, DATE, IDENTIFIER, NAME_WORDS_MAX, PHRASE, QUOTED, RecordWriter, Role, Span, TITLE, Window, extended,
    name_hash, word_hash,
};
use crate::entities::words::{Gap, SURFACE_BYTES_MAX, Shape, Word, WordCutter, form_of, is_caseless};

/// Words of a chunk that are looked at. A chunk has at most 256 tokens; this bounds one that is a single "word".
const WORDS_MAX: usize = 4_096;
/// Words of a chunk that its names may consist of.
const NAMED_WORDS_MAX: usize = 512;
/// Runs of capitalised words, and declared names, of a chunk.
const SPANS_MAX: usize = 200;
/// Words of one run: a heading in capitals is cut here.
const WINDOW_WORDS_MAX: usize = 24;
/// Small words in a row that a run goes on over.
const CONNECTORS_MAX: usize = 3;
/// Bytes between two quotation marks.
const QUOTE_BYTES_MAX: usize = 200;
/// Words of a query that are looked at.
const QUERY_WORDS_MAX: usize = 256;
/// Phrases of a memory.
pub const PHRASES_MAX: usize = 64;

/// What is known of a memory's names beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryNames<'text> {
    /// Its title, given or found.
    pub title: Option<&'text str>,
    /// Key phrases or entities, the first `PHRASES_MAX` of which count.
    pub phrases: &'text [String],
}

/// Finds names. Holds the word segmentation only.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NameFinder {
    cutter: WordCutter,
}

/// A memory's phrases, ready to be looked for.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    hashes: FxHashSet<u64>,
    /// Bit n: some phrase has n words.
    lengths: u32,
}

/// What a query may name: at each of its words, the runs that begin there, the longest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryRun {
    /// Number of the first word.
    pub(crate) first: usize,
    /// How many words.
    pub(crate) length: usize,
    /// The name's number.
    pub(crate) hash: u64,
    /// As it is written.
    pub(crate) surface: String,
}

impl NameFinder {
    /// A memory's phrases.
    pub(crate) fn phrases(&self, phrases: &[String]) -> Phrases {
        let mut found = Phrases::default();
        for phrase in phrases.iter().take(PHRASES_MAX) {
            let words = self.cutter.words(phrase, NAME_WORDS_MAX + 1);
            if (1..=NAME_WORDS_MAX).contains(&words.len()) {
                found.hashes.insert(hash_of(&words));
                found.lengths |= 1 << words.len();
            }
        }
        found
    }

    /// The names of a passage as a record; `title` for the first chunk of a memory only.
    pub(crate) fn record(&self, passage: &str, title: Option<&str>, phrases: &Phrases) -> Vec<u8> {
        let words = self.cutter.words(passage, WORDS_MAX);
        let mut draft = Draft { text: passage, words: &words, windows: Vec::new(), spans: Vec::new() };
        draft.find_windows();
        draft.find_dates();
        draft.find_phrases(phrases);
        draft.find_quotes();
        draft.find_identifiers();
        let mut writer = RecordWriter::default();
        let mut spans = Vec::new();
        let title_words = title.map(|title| self.cutter.words(title, WORDS_MAX)).unwrap_or_default();
        if let Some(title) = title {
            spans = title_spans(title, &title_words);
            let longest = spans.iter().map(|span| span.length).max().unwrap_or_default();
            write_words(&mut writer, title, &title_words[..longest], &vec![true; longest]);
        }
        draft.finish(writer, spans)
    }

    /// The runs of a query's words that may be names, by first word, the longest first, a date before its words, and
    /// behind a run that ends with a Korean particle the same without it.
    pub(crate) fn query_runs(&self, query: &str) -> Vec<QueryRun> {
        let words = self.cutter.words(query, QUERY_WORDS_MAX);
        let mut runs = Vec::new();
        for first in 0..words.len() {
            let longest = words.len().min(first + NAME_WORDS_MAX);
            let run = |last: usize, hash: u64| QueryRun {
                first,
                length: last - first,
                hash,
                surface: query[words[first].start..words[last - 1].end].to_owned(),
            };
            let mut hash = 0;
            let mut of_word: Vec<QueryRun> = Vec::new();
            for last in first + 1..=longest {
                let word = &words[last - 1];
                // After the run as it is written, since what follows is turned round.
                if let Some(noun) = korean_noun(&query[word.start..word.end]) {
                    let mut of_noun = run(last, extended(hash, word_hash(&form_of(noun))));
                    of_noun.surface.truncate(word.start - words[first].start + noun.len());
                    of_word.push(of_noun);
                }
                hash = extended(hash, word_hash(&word.form));
                of_word.push(run(last, hash));
            }
            let date = date_at(&words[first..]).map(|(length, form)| run(first + length, name_hash(&form)));
            of_word.extend(date);
            of_word.reverse();
            of_word.sort_by_key(|run| std::cmp::Reverse(run.length));
            runs.extend(of_word);
        }
        runs
    }
}

fn hash_of(words: &[Word]) -> u64 {
    words.iter().fold(0, |hash, word| extended(hash, word_hash(&word.form)))
}

/// The title and its shorter forms, as far as they are short enough to be a name.
fn title_spans(title: &str, words: &[Word]) -> Vec<Span> {
    let words_before = |end: usize| words.iter().take_while(|word| word.end <= end).count();
    let bare = title.trim_end();
    let bracket = if bare.ends_with([')', '）']) { bare.rfind(['(', '（']) } else { None };
    let comma = title.find([',', '，']).filter(|comma| is_name_before_comma(&words[..words_before(*comma)]));
    let mut lengths = vec![words.len(), bracket.map_or(0, words_before), comma.map_or(0, words_before)];
    let is_written_short = |words: &[Word]| words.iter().all(|word| word.end - word.start <= SURFACE_BYTES_MAX);
    lengths.retain(|length| (1..=NAME_WORDS_MAX).contains(length) && is_written_short(&words[..*length]));
    lengths.sort_unstable();
    lengths.dedup();
    lengths.into_iter().map(|length| Span { first: 0, length, kind: TITLE, form: None }).collect()
}

/// Whether what a title says before a comma is a name: "Mount Vernon, New York", but not "In 2008, they moved", since
/// many a title is the beginning of a text.
fn is_name_before_comma(words: &[Word]) -> bool {
    let begins_clause = words
        .first()
        .is_some_and(|word| is_function_word(&word.form) && !begins_names(&word.form) || is_grammar_word(&word.form));
    let is_written_as_name = words.iter().all(|word| word.shape != Shape::Lower || is_connector(word));
    words.len() >= 2 && !begins_clause && !is_of_date(words) && is_written_as_name
}

fn write_words(writer: &mut RecordWriter, text: &str, words: &[Word], is_kept: &[bool]) {
    // Names never span a longer gap; of one the first character says enough.
    const BETWEEN_BYTES_MAX: usize = 8;
    for (at, word) in words.iter().enumerate().filter(|(at, _)| is_kept[*at]) {
        let before =
            at.checked_sub(1).filter(|before| is_kept[*before]).map(|before| &text[words[before].end..word.start]);
        let between = match before {
            Some(between) if between.len() <= BETWEEN_BYTES_MAX => between,
            _ => " ",
        };
        writer.word(between, &text[word.start..word.end], &word.form, role(word));
    }
}

/// The names of one text while they are looked for; ranges are numbers of words.
struct Draft<'text> {
    text: &'text str,
    words: &'text [Word],
    windows: Vec<Window>,
    spans: Vec<Span>,
}

impl Draft<'_> {
    fn has_room(&self) -> bool {
        self.windows.len() + self.spans.len() < SPANS_MAX
    }

    fn declare(&mut self, first: usize, length: usize, kind: u8, form: Option<String>) {
        if self.has_room() && (1..=NAME_WORDS_MAX).contains(&length) {
            self.spans.push(Span { first, length, kind, form });
        }
    }

    fn find_windows(&mut self) {
        let mut at = 0;
        while at < self.words.len() && self.has_room() {
            let end = match self.words[at].shape {
                Shape::Caseless => self.caseless_end(at),
                _ => self.capitalised_end(at),
            };
            let is_alone = end == at + 1 && is_function_word(&self.words[at].form);
            if end > at && !is_alone {
                let is_caseless = self.words[at].shape == Shape::Caseless;
                self.windows.push(Window { first: at, count: end - at, is_caseless });
                if !is_caseless {
                    self.declare_runs(at, end);
                }
            }
            at = end.max(at + 1);
        }
    }

    fn caseless_end(&self, first: usize) -> usize {
        let more = self.words[first + 1..].iter().take(WINDOW_WORDS_MAX - 1);
        first + 1 + more.take_while(|word| word.shape == Shape::Caseless && word.gap == Gap::Join).count()
    }

    /// The end of the run of name-like words that begins here; `first` itself if none does.
    fn capitalised_end(&self, first: usize) -> usize {
        let words = self.words;
        let begins = match words[first].shape {
            Shape::Capital => words[first].form != "i",
            // "12 Angry Men", not "in 1990 she".
            Shape::Digits => {
                words.get(first + 1).is_some_and(|next| next.shape == Shape::Capital && next.gap == Gap::Join)
            }
            _ => false,
        };
        if !begins {
            return first;
        }
        let (mut end, mut connectors) = (first + 1, 0);
        for (at, word) in words.iter().enumerate().take(first + WINDOW_WORDS_MAX).skip(first + 1) {
            match word.shape {
                Shape::Capital if word.gap < Gap::Hard => (end, connectors) = (at + 1, 0),
                Shape::Digits if word.gap == Gap::Join => (end, connectors) = (at + 1, 0),
                Shape::Lower if word.gap == Gap::Join && is_connector(word) && connectors < CONNECTORS_MAX => {
                    connectors += 1;
                }
                _ => break,
            }
        }
        end
    }

    /// Declares the longest runs of a window that are one name each.
    fn declare_runs(&mut self, first: usize, end: usize) {
        let words = self.words;
        let mut start = first;
        for (at, word) in words.iter().enumerate().take(end).skip(first + 1) {
            if word.gap > Gap::Join || is_parting(word) {
                self.declare_run(start, at);
                start = at + usize::from(is_parting(word));
            }
        }
        self.declare_run(start, end);
    }

    fn declare_run(&mut self, mut start: usize, mut end: usize) {
        let words = self.words;
        // After a full run the word "I" is the speaker's: "she told Ann I was", but "Elizabeth I, queen".
        if end - start.min(end) > 1
            && words[end - 1].form == "i"
            && words.get(end).is_some_and(|next| next.gap == Gap::Join)
        {
            end -= 1;
        }
        while start < end && words[end - 1].shape == Shape::Lower {
            end -= 1;
        }
        let starts_sentence = words[start.min(words.len() - 1)].starts_sentence;
        let begun = start;
        while start < end {
            let word = &words[start];
            let is_leading = word.shape != Shape::Capital || (starts_sentence && is_function_word(&word.form));
            if !is_leading {
                break;
            }
            start += 1;
        }
        let says_nothing = is_of_date(&words[start..end])
            || end - start == 1
                && ((starts_sentence && start == begun)
                    || is_function_word(&words[start].form)
                    || is_month(&words[start]));
        if start < end && !says_nothing {
            self.declare(start, end - start, CAPITALISED, None);
        }
    }

    fn find_dates(&mut self) {
        let mut at = 0;
        while at < self.words.len() {
            let found = date_at(&self.words[at..]);
            let length = found.as_ref().map_or(1, |(length, _)| *length);
            if let Some((length, form)) = found {
                self.declare(at, length, DATE, Some(form));
            }
            at += length;
        }
    }

    fn find_phrases(&mut self, phrases: &Phrases) {
        if phrases.hashes.is_empty() {
            return;
        }
        let hashes: Vec<u64> = self.words.iter().map(|word| word_hash(&word.form)).collect();
        for first in 0..hashes.len() {
            let mut hash = 0;
            for (length, word) in (1usize..=NAME_WORDS_MAX).zip(&hashes[first..]) {
                hash = extended(hash, *word);
                if phrases.lengths >> length & 1 == 1 && phrases.hashes.contains(&hash) {
                    self.declare(first, length, PHRASE, None);
                }
            }
        }
    }

    fn find_quotes(&mut self) {
        let mut open: Option<(usize, &[char])> = None;
        for (at, c) in self.text.char_indices() {
            if let Some((start, _)) = open.filter(|(_, closers)| closers.contains(&c)) {
                self.declare_quote(start, at);
                open = None;
                continue;
            }
            let closers: &[char] = match c {
                '"' => &['"'],
                '“' => &['”'],
                '„' => &['“', '”'],
                '«' => &['»'],
                '‹' => &['›'],
                '「' => &['」'],
                '『' => &['』'],
                '《' => &['》'],
                '〈' => &['〉'],
                '\n' => {
                    open = None;
                    continue;
                }
                _ => continue,
            };
            open = Some((at + c.len_utf8(), closers));
        }
    }

    /// Titles begin with a capital; what ends with a comma or a full stop inside the marks is speech.
    fn declare_quote(&mut self, start: usize, end: usize) {
        let quoted = self.text[start..end].trim_end();
        if quoted.len() > QUOTE_BYTES_MAX
            || quoted.ends_with(['.', ',', '!', '?', '…', '—', '-', '。', '，', '！', '？'])
        {
            return;
        }
        let (first, count) = self.words_in(start, end);
        let Some(word) = self.words[first..].first().filter(|_| count > 0) else { return };
        let is_title = matches!(word.shape, Shape::Capital | Shape::Digits) || quoted.starts_with(is_caseless);
        if is_title && !(count == 1 && is_function_word(&word.form)) {
            self.declare(first, count, QUOTED, None);
        }
    }

    fn find_identifiers(&mut self) {
        let is_of_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-' | '/' | ':');
        let mut at = 0;
        while let Some(offset) = self.text[at..].find(is_of_token) {
            let start = at + offset;
            let end = self.text[start..].find(|c| !is_of_token(c)).map_or(self.text.len(), |length| start + length);
            at = end;
            if let Some((start, end)) = identifier(self.text, start, end) {
                let (first, count) = self.words_in(start, end);
                self.declare(first, count, IDENTIFIER, None);
            }
        }
    }

    fn words_in(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.words.partition_point(|word| word.start < start);
        let last = self.words.partition_point(|word| word.end <= end);
        (first, last.saturating_sub(first))
    }

    /// Numbers the words that any name needs anew, behind those of the title.
    fn finish(self, mut writer: RecordWriter, mut spans: Vec<Span>) -> Vec<u8> {
        let title_words = spans.iter().map(|span| span.length).max().unwrap_or_default();
        let mut is_kept = vec![false; self.words.len()];
        let mut kept = 0;
        // What does not fit any more is left out as a whole.
        let mut keep = |first: usize, count: usize| {
            let words = &self.words[first..first + count];
            let added = is_kept[first..first + count].iter().filter(|is_kept| !**is_kept).count();
            let is_written_short = words.iter().all(|word| word.end - word.start <= SURFACE_BYTES_MAX);
            let fits = is_written_short && kept + added <= NAMED_WORDS_MAX;
            if fits {
                kept += added;
                is_kept[first..first + count].fill(true);
            }
            fits
        };
        let windows: Vec<Window> = self.windows.into_iter().filter(|window| keep(window.first, window.count)).collect();
        let declared: Vec<Span> = self.spans.into_iter().filter(|span| keep(span.first, span.length)).collect();
        let numbers: Vec<usize> = is_kept
            .iter()
            .scan(title_words, |next, is_kept| {
                let number = *next;
                *next += usize::from(*is_kept);
                Some(number)
            })
            .collect();
        write_words(&mut writer, self.text, self.words, &is_kept);
        let windows: Vec<Window> =
            windows.into_iter().map(|window| Window { first: numbers[window.first], ..window }).collect();
        spans.extend(declared.into_iter().map(|span| Span { first: numbers[span.first], ..span }));
        writer.finish(&windows, &spans)
    }
}

/// The part of a token that identifies something, if any does: an address, a name with digits or underscores in it.
fn identifier(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let token = &text[start..end];
    let scheme = token.find("://").map_or(0, |at| at + 3);
    let body = token[scheme..].split('/').next().unwrap_or_default();
    let trimmed = body.trim_matches(['.', '-', ':', '@', '_']);
    let from = start + scheme + body.find(trimmed).unwrap_or_default();
    let count = |test: fn(u8) -> bool| trimmed.bytes().filter(|byte| test(*byte)).count();
    let (letters, digits) = (count(|byte| byte.is_ascii_alphabetic()), count(|byte| byte.is_ascii_digit()));
    let has_slash = token[scheme..].contains('/');
    let is_identifier = letters > 0
        && trimmed.len() <= 64
        && (is_address(trimmed)
            || (!has_slash
                && !trimmed.contains([':', '.', '@'])
                && (trimmed.contains('_') || (digits > 0 && !is_quantity(trimmed)))));
    is_identifier.then_some((from, from + trimmed.len()))
}

/// "a@b.org", "docs.example.com", "config.toml": labels parted by dots, the last one of small letters.
fn is_address(token: &str) -> bool {
    let host = token.rsplit('@').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let last = labels.last().copied().unwrap_or_default();
    labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty() && !label.contains([':', '/']))
        && (2..=10).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// "21st", "10km", "1990s", "5-10", "3rd-party": a number with something small behind it names nothing.
fn is_quantity(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit()) && !token.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether words are months and numbers alone.
fn is_of_date(words: &[Word]) -> bool {
    words.iter().all(|word| is_month(word) || word.shape == Shape::Digits)
}

/// Small words that may stand inside a name, but neither begin nor end it; those that part, part two names.
fn is_connector(word: &Word) -> bool {
    word.shape == Shape::Lower && (joins_names(&word.form) || parts_names(&word.form))
}

fn is_parting(word: &Word) -> bool {
    word.shape == Shape::Lower && parts_names(&word.form)
}

fn role(word: &Word) -> Role {
    match word.shape {
        _ if is_connector(word) => Role::Connector,
        Shape::Capital if is_function_word(&word.form) => Role::FunctionWord,
        _ => Role::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entities::record::{DECLARED, RecordReader};

    /// The declared names of a passage as (letter of its kind, as written), in order and once each.
    fn declared_with(passage: &str, title: Option<&str>, phrases: &[&str]) -> Vec<(char, String)> {
        let finder = NameFinder::default();
        let phrases: Vec<String> = phrases.iter().map(|phrase| (*phrase).to_owned()).collect();
        let record = finder.record(passage, title, &finder.phrases(&phrases));
        let mut found = Vec::new();
        let read = RecordReader::default().each_mention(&record, |mention| {
            let kinds =
                [(TITLE, 't'), (CAPITALISED, 'c'), (QUOTED, 'q'), (IDENTIFIER, 'i'), (DATE, 'd'), (PHRASE, 'k')];
            for (_, letter) in kinds.iter().filter(|(mark, _)| mention.marks & mark != 0) {
                let named = (*letter, mention.surface.to_owned());
                if !found.contains(&named) {
                    found.push(named);
                }
            }
        });
        read.expect("a record");
        found
    }

    fn named(passage: &str, kind: char) -> Vec<String> {
        declared_with(passage, None, &[])
            .into_iter()
            .filter(|(found, _)| *found == kind)
            .map(|(_, name)| name)
            .collect()
    }

    #[test]
    fn capitalised_names_are_found_in_languages_with_case() {
        for (passage, expected) in [
            ("In London, Ada met Charles Babbage.", vec!["London", "Ada", "Charles Babbage"]),
            (
                "The Beatles sang. She loved the Bank of England and Monty Python.",
                vec!["Beatles", "Bank of England", "Monty Python"],
            ),
            ("Yesterday went well. Norah slept.", vec![]),
            ("He read J. R. R. Tolkien in St. Maurice's Abbey.", vec!["J. R. R. Tolkien", "St. Maurice's Abbey"]),
            ("A daughter of Henry VIII, she saw Apollo 11.", vec!["Henry VIII", "Apollo 11"]),
            ("She told Norah I would come. I'm Ann.", vec!["Norah", "Ann"]),
            ("Gestern traf Ludwig van Beethoven in Wien ein.", vec!["Ludwig van Beethoven", "Wien"]),
            (
                "Hier, la Tour Eiffel et l'Arc de Triomphe brillaient à Paris.",
                vec!["Tour Eiffel", "Arc de Triomphe", "Paris"],
            ),
            (
                "Ayer Gabriel García Márquez viajó de Bogotá a Cartagena.",
                vec!["Gabriel García Márquez", "Bogotá", "Cartagena"],
            ),
            ("Вчера Лев Толстой приехал в Москву.", vec!["Лев Толстой", "Москву"]),
            ("Ο Νίκος Καζαντζάκης γεννήθηκε στο Ηράκλειο.", vec!["Νίκος Καζαντζάκης", "Ηράκλειο"]),
            ("Wczoraj Maria Skłodowska-Curie wróciła do Łodzi.", vec!["Maria Skłodowska-Curie", "Łodzi"]),
            ("Dün Mustafa Kemal İstanbul'a geldi.", vec!["Dün Mustafa Kemal İstanbul'a"]),
        ] {
            assert_eq!(named(passage, 'c'), expected, "{passage}");
        }
    }

    #[test]
    fn a_title_is_named_by_what_stands_before_its_comma_only_where_that_is_a_name() {
        let titles = |title: &str| -> Vec<String> {
            declared_with("", Some(title), &[])
                .into_iter()
                .filter(|(kind, _)| *kind == 't')
                .map(|(_, name)| name)
                .collect()
        };
        for (title, name) in [
            ("Mount Vernon, New York", "Mount Vernon"),
            ("The Hague, South Holland", "The Hague"),
            ("Bank of England, London", "Bank of England"),
            ("Los Angeles, Kalifornien", "Los Angeles"),
            ("北京 大学，中国", "北京 大学"),
        ] {
            assert!(titles(title).contains(&name.to_owned()), "{title}: {:?}", titles(title));
        }
        for clause in [
            "In 2008, they moved",
            "On Monday, Ann called",
            "To date, nothing",
            "Last week, it rained",
            "8 May 2023, Berlin",
            "Der Hund, der bellt",
            "in japan, robots rise",
            "그리고 서울, 부산",
        ] {
            assert_eq!(titles(clause), [clause]);
        }
    }

    #[test]
    fn scripts_without_case_give_words_and_pairs() {
        for (passage, expected) in [
            ("爱因斯坦出生于德国", &["爱因斯坦", "德国"][..]),
            ("東京タワーはデータベース", &["東京", "タワー", "データベース"]),
            ("나는 서울 에서 살았다", &["서울"]),
            ("ولد نجيب محفوظ في القاهرة", &["نجيب", "نجيب محفوظ", "القاهرة"]),
            ("דוד בן גוריון נולד", &["דוד", "גוריון"]),
            ("महात्मा गांधी भारत", &["महात्मा", "महात्मा गांधी", "गांधी भारत"]),
            ("กรุงเทพมหานครเป็นเมืองหลวง", &["เมืองหลวง"]),
            ("დავით აღმაშენებელი", &["დავით აღმაშენებელი"]),
            ("我用 Rust 和python写", &["Rust", "python"]),
        ] {
            let found = named(passage, 'c');
            for name in expected {
                assert!(found.contains(&(*name).to_owned()), "{passage}: {name} is not in {found:?}");
            }
        }
    }

    #[test]
    fn words_of_grammar_neither_are_names_nor_begin_or_end_one() {
        for (passage, grammar, names) in [
            ("我们 已经 在北京大学 因为 这里 没有 长江", "我们 已经 因为 这里 没有", "北京大学 长江"),
            ("我們 已經 在臺灣 因為 這裡", "我們 已經 因為 這裡", "臺灣"),
            ("最も高い富士山は今日も同じ、東京の彼女", "最も 今日 同じ 彼女", "富士山 東京"),
            (
                "부산 그리고 한라산 있다 매우 우리는 금강산 있었다",
                "그리고 있다 매우 우리는 우리 있었다",
                "부산 한라산 금강산",
            ),
            ("เชียงใหม่และกรุงเทพฯเป็นของไทย", "และ เป็น ของ", "เชียงใหม่ ไทย"),
            ("هذا نجيب محفوظ في القاهرة ولكن ليس من دمشق وهو", "هذا في ولكن ليس من وهو", "نجيب محفوظ القاهرة دمشق"),
            ("महात्मा गांधी और भारत में है क्योंकि दिल्ली", "और में है क्योंकि", "महात्मा गांधी भारत दिल्ली"),
        ] {
            let found = named(passage, 'c');
            for word in grammar.split(' ') {
                let has = |name: &&String| {
                    let finder = NameFinder::default();
                    let words: Vec<String> = finder.cutter.words(name, 9).into_iter().map(|word| word.form).collect();
                    let form = crate::entities::words::form_of(word);
                    words.first() == Some(&form) || words.last() == Some(&form)
                };
                assert_eq!(found.iter().find(has), None, "{passage}: {word}");
            }
            for name in names.split(' ') {
                assert!(found.contains(&name.to_owned()), "{passage}: {name} is not in {found:?}");
            }
        }
    }

    #[test]
    fn a_word_of_grammar_inside_a_title_or_a_quotation_stays() {
        assert_eq!(named("她听《因为爱情》和《我们》。", 'q'), ["因为爱情"]);
        assert_eq!(named("그는 「그리고 아무도 없었다」와 「그리고」를 읽었다", 'q'), ["그리고 아무도 없었다"]);
        let titled = declared_with("본문", Some("우리 그리고 서울"), &["있다", "서울 그리고 부산"]);
        assert!(titled.contains(&('t', "우리 그리고 서울".to_owned())), "{titled:?}");
        let told = declared_with("서울 그리고 부산 있다", None, &["있다", "서울 그리고 부산"]);
        let phrases: Vec<&str> = told.iter().filter(|(kind, _)| *kind == 'k').map(|(_, name)| name.as_str()).collect();
        assert_eq!(phrases, ["서울 그리고 부산"]);
    }

    #[test]
    fn a_korean_noun_is_one_name_with_any_particle() {
        let finder = NameFinder::default();
        let found = named("서울에서 한라산은 부산까지 학교 운동장을", 'c');
        assert_eq!(found, ["서울", "한라산", "부산", "학교", "학교 운동장", "운동장"]);
        let hash = |text: &str| finder.query_runs(text).first().map(|run| run.hash);
        for (asked, name) in [("서울에서는 무엇을", "서울"), ("학교 운동장에", "학교 운동장"), ("서울", "서울")]
        {
            let runs = finder.query_runs(asked);
            let run = runs.iter().find(|run| Some(run.hash) == hash_of_name(&finder, name));
            assert_eq!(run.map(|run| (run.first, run.surface.as_str())), Some((0, name)), "{asked}");
        }
        // What is written counts before what it may be taken for.
        assert_eq!(finder.query_runs("서울에서")[0].surface, "서울에서");
        assert_ne!(hash("서울에서"), hash("서울"));
    }

    fn hash_of_name(finder: &NameFinder, name: &str) -> Option<u64> {
        finder.query_runs(name).iter().find(|run| run.surface == name).map(|run| run.hash)
    }

    #[test]
    fn a_record_from_before_a_word_was_known_for_grammar_gives_the_same_names() {
        let mut writer = RecordWriter::default();
        for (between, surface) in [("", "그리고"), (" ", "서울에서"), (" ", "있다")] {
            writer.word(between, surface, &crate::entities::words::form_of(surface), Role::Plain);
        }
        let record = writer.finish(&[Window { first: 0, count: 3, is_caseless: true }], &[]);
        let mut names = Vec::new();
        let read = RecordReader::default().each_mention(&record, |mention| names.push(mention.surface.to_owned()));
        read.expect("a record");
        assert_eq!(names, ["서울"]);
    }

    #[test]
    fn quotations_are_names_when_they_are_written_like_titles() {
        for (passage, expected) in [
            ("He sang “Imagine All” and \"Hey Jude\".", vec!["Imagine All", "Hey Jude"]),
            ("“Do come in,” she said. \"Never!\" “not a title”", vec![]),
            ("Er las „Die Verwandlung“ gern, „Krieg und Frieden” auch.", vec!["Die Verwandlung", "Krieg und Frieden"]),
            ("Il a lu «Les Misérables» hier.", vec!["Les Misérables"]),
            ("他读了《红楼梦》。", vec!["红楼梦"]),
            ("彼は「千と千尋」と『雪国』を", vec!["千と千尋", "雪国"]),
            ("a \" lone mark, “ and another", vec![]),
        ] {
            assert_eq!(named(passage, 'q'), expected, "{passage}");
        }
    }

    #[test]
    fn identifiers_are_told_from_numbers_and_words() {
        let passage = "Bug ABC-123 in parse_header, mail ada.l@example.co.uk or see https://docs.rs/tantivy/0.2, file config.toml, \
                       COVID19, not 21st, 10km, 1990s, 3.5, e.g. and/or end.";
        let expected = ["ABC-123", "parse_header", "ada.l@example.co.uk", "docs.rs", "config.toml", "COVID19"];
        assert_eq!(named(passage, 'i'), expected);
    }

    #[test]
    fn a_day_is_one_name_however_it_is_written() {
        let hashes = |passage: &str| {
            let finder = NameFinder::default();
            let record = finder.record(passage, None, &Phrases::default());
            let mut found = Vec::new();
            let mut reader = RecordReader::default();
            let days = |mention: crate::entities::record::Mention<'_>| {
                if mention.marks & DATE != 0 {
                    found.push(mention.hash);
                }
            };
            reader.each_mention(&record, days).expect("a record");
            found
        };
        for passage in [
            "on 2023-05-08.",
            "8 May 2023",
            "on May 8, 2023",
            "May 8th, 2023",
            "8th of May 2023",
            "am 8. Mai 2023",
            "le 8 mai 2023",
            "el 8 de mayo de 2023",
            "8 мая 2023 года",
            "2023年5月8日",
            "2023년 5월 8일",
            "8 maja 2023",
        ] {
            assert_eq!(hashes(passage), [name_hash("2023 05 08")], "{passage}");
        }
        for passage in [
            "2023-13-08",
            "30 February 2023",
            "May 2023",
            "8 May",
            "8. May went. 2023",
            "1.2.3",
            "99999999999 May 2023",
        ] {
            assert_eq!(hashes(passage), [0u64; 0], "{passage}");
        }
    }

    #[test]
    fn titles_and_phrases_are_names_of_the_chunk() {
        let of = |title| {
            let found = declared_with("text", Some(title), &[]);
            found.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(of("Theodred II (Bishop of Elmham)"), ["Theodred II", "Theodred II (Bishop of Elmham"]);
        assert_eq!(of("Georg Friedrich, Prince of Prussia"), ["Georg Friedrich", "Georg Friedrich, Prince of Prussia"]);
        assert_eq!(of("Paris, Texas"), ["Paris, Texas"]);
        assert_eq!(of("eight words are one more than a name"), [""; 0]);
        assert_eq!(of(" — "), [""; 0]);
        let found = declared_with("we use Machine-Learning daily", None, &["machine learning", "deep learning", ""]);
        assert_eq!(found.iter().find(|(kind, _)| *kind == 'k'), Some(&('k', "Machine-Learning".to_owned())));
        assert_eq!(found.iter().filter(|(kind, _)| *kind == 'k').count(), 1);
    }

    #[test]
    fn equal_names_are_equal_in_any_writing() {
        let hash = |surface: &str| {
            let runs = NameFinder::default().query_runs(surface);
            runs.first().map(|run| (run.hash, run.length))
        };
        for (one, other) in [
            ("Polish-Russian War", "polish russian WAR"),
            ("Gabriel García Márquez", "gabriel garcia marquez"),
            ("José", "Jose\u{301}"),
            ("Ada’s", "ada"),
            ("O'Brien", "OBrien"),
            ("Simon & Garfunkel", "simon and garfunkel"),
            ("İSTANBUL", "istanbul"),
            ("ﬁre", "FIRE"),
            ("Ёлка", "елка"),
            ("データ", "ﾃﾞｰﾀ"),
            ("8 May 2023", "May 8, 2023"),
        ] {
            assert_eq!(hash(one).map(|(hash, _)| hash), hash(other).map(|(hash, _)| hash), "{one}, {other}");
        }
        assert_ne!(hash("ガ"), hash("カ"));
        assert_ne!(hash("कि"), hash("का"));
        assert_ne!(hash("a b"), hash("b a"));
    }

    #[test]
    fn hostile_texts_are_read_in_bounds() {
        let million = |piece: &str| piece.repeat(1_000_000 / piece.len());
        let texts = [
            million("a"),
            million("A"),
            million("漢"),
            million("ア"),
            million("ก"),
            million("A "),
            million("Ab, "),
            million("\""),
            million("“"),
            million("“A”"),
            million("of "),
            million("A of "),
            million("1 "),
            million("8 May 2023 "),
            million("a1 "),
            million("a@b.cd "),
            million("'"),
            million("l'"),
            million("\u{301}"),
            million("\n"),
            million("."),
            million("é\u{200d}"),
            million("🙂"),
            million("\0"),
            million("A\u{301}"),
            million("서울 "),
            million("서울에서 "),
            million("서울에서"),
            million("있다 "),
            million("2023年5月8日"),
        ];
        let phrases: Vec<String> = texts.iter().cloned().chain((0..100).map(|n| format!("A {n}"))).collect();
        let finder = NameFinder::default();
        let phrases = finder.phrases(&phrases);
        for text in &texts {
            let record = finder.record(text, Some(text), &phrases);
            let (mut mentions, mut declared) = (0, 0);
            let count = |mention: crate::entities::record::Mention<'_>| {
                mentions += 1;
                declared += usize::from(mention.marks & DECLARED != 0);
            };
            RecordReader::default().each_mention(&record, count).expect("a record");
            let label = &text[..text.floor_char_boundary(12)];
            assert!(mentions <= NAMED_WORDS_MAX * NAME_WORDS_MAX + SPANS_MAX, "{label}: {mentions}");
            assert!(declared <= NAMED_WORDS_MAX * 2 + SPANS_MAX, "{label}: {declared}");
            assert!(record.len() <= 200_000, "{label}: {} bytes", record.len());
            assert!(finder.query_runs(text).len() <= QUERY_WORDS_MAX * (2 * NAME_WORDS_MAX + 1), "{label}");
        }
    }

    #[test]
    fn bytes_that_are_no_record_are_refused() {
        let mut chance = mneme_testing::Chance::new();
        let finder = NameFinder::default();
        let phrases = finder.phrases(&["good year".to_owned()]);
        let passage = "Élan met “Die Verwandlung” on 8 May 2023, a good year for ABC-123 in 北京大学.";
        let sound = finder.record(passage, Some("A Title (of sorts)"), &phrases);
        let mut reader = RecordReader::default();
        for end in 1..sound.len() {
            assert!(reader.each_mention(&sound[..end], |_| ()).is_err(), "cut to {end} bytes");
        }
        for _ in 0..2_000 {
            let mut flipped = sound.clone();
            flipped[chance.below(sound.len())] ^= 1 << chance.below(8);
            // Some are records still; what counts is that none is read beyond its end.
            let _ = reader.each_mention(&flipped, |mention| assert!(mention.surface.len() <= flipped.len()));
        }
    }
}
