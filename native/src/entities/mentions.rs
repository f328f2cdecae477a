//! Extracts entity mentions from a chunk by their surface form, without a model, for any language.
//!
//! | Kind | Surface form |
//! |---|---|
//! | title | the memory's title; also without a "(…)" at its end, and the name before its first comma |
//! | capitalised | longest run of capitalised words; in scripts without case, words and pairs without function words |
//! | quoted | up to seven words between quotation marks that are written like a title |
//! | identifier | letters mixed with digits, snake_case, or an address |
//! | date | a calendar date; all notations of a date give the same entity |
//! | phrase | a tag or phrase of the memory, if the chunk contains it |
//!
//! `entities::admissible_graph` decides at query time which mentions become links.

use rustc_hash::FxHashSet;

use crate::entities::caseless_function_words::is_caseless_function_word;
use crate::entities::dates::{date_at, is_month};
use crate::entities::function_words::{
    is_function_word, is_inner_connector, is_leading_connector, is_separating_connector,
};
use crate::entities::initials::is_letter;
use crate::entities::korean_particles::korean_noun;
use crate::entities::record::{
    CAPITALISED, DATE, ENTITY_WORDS_MAX, IDENTIFIER, PHRASE, QUOTED, RecordWriter, Role, Span, TITLE, Window,
    entity_hash, extend_hash, word_hash,
};
use crate::entities::words::{Gap, SURFACE_BYTES_MAX, Shape, Word, WordTokeniser, form_of, is_caseless, is_designated};

/// Maximum number of words of a chunk that are examined. A chunk has a few hundred tokens, but a long text without
/// spaces can be a single token.
const WORDS_MAX: usize = 4_096;
/// Maximum number of words in a record. A record contains only the words of its windows and spans.
const RECORD_WORDS_MAX: usize = 512;
/// Maximum number of windows and spans of a chunk.
const SPANS_MAX: usize = 200;
/// Maximum number of words of a window. A longer run of capitalised words, like a heading in capitals, is split.
const WINDOW_WORDS_MAX: usize = 24;
/// Maximum number of consecutive connectors inside a window.
const CONNECTORS_MAX: usize = 3;
/// Maximum number of bytes between two quotation marks.
const QUOTE_BYTES_MAX: usize = 200;
/// Maximum number of words of a query that are examined.
const QUERY_WORDS_MAX: usize = 256;
/// Maximum number of phrases of a memory.
pub const PHRASES_MAX: usize = 64;

/// Title and phrases of a memory, which give entities besides those that its text names.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntitySources<'text> {
    /// Title of the memory, given or generated.
    pub title: Option<&'text str>,
    /// Tags, key phrases and entities of the memory. Only the first `PHRASES_MAX` are used.
    pub phrases: &'text [String],
}

/// Extracts entity mentions. Cheap to copy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MentionExtractor {
    tokeniser: WordTokeniser,
}

/// The phrases of a memory, prepared for finding them in its text.
#[derive(Debug, Default)]
pub(crate) struct PhraseSet {
    hashes: FxHashSet<u64>,
    /// Bit n is set if a phrase has n words.
    lengths: u32,
}

/// An n-gram of a query's words, which may be an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryNgram {
    /// Index of the first word.
    pub(crate) first: usize,
    /// Number of words.
    pub(crate) length: usize,
    /// Hash of the entity.
    pub(crate) hash: u64,
    /// Surface form.
    pub(crate) surface: String,
}

impl MentionExtractor {
    /// Prepares the phrases of a memory. Phrases without words, or with more than `ENTITY_WORDS_MAX` words, are
    /// ignored.
    pub(crate) fn phrases(&self, phrases: &[String]) -> PhraseSet {
        let mut set = PhraseSet::default();
        for phrase in phrases.iter().take(PHRASES_MAX) {
            let words = self.tokeniser.words(phrase, ENTITY_WORDS_MAX + 1);
            if (1..=ENTITY_WORDS_MAX).contains(&words.len()) {
                set.hashes.insert(hash_of(&words));
                set.lengths |= 1 << words.len();
            }
        }
        set
    }

    /// Returns the record (`entities::record`) of the mentions of a passage. `title` is given only for the first chunk
    /// of a memory.
    pub(crate) fn record(&self, passage: &str, title: Option<&str>, phrases: &PhraseSet) -> Vec<u8> {
        let words = self.tokeniser.words(passage, WORDS_MAX);
        let mut extraction = Extraction { text: passage, words: &words, windows: Vec::new(), spans: Vec::new() };
        extraction.add_windows();
        extraction.add_dates();
        extraction.add_phrases(phrases);
        extraction.add_quotations();
        extraction.add_identifiers();
        let mut writer = RecordWriter::default();
        let mut spans = Vec::new();
        let title_words = title.map(|title| self.tokeniser.words(title, WORDS_MAX)).unwrap_or_default();
        if let Some(title) = title {
            spans = title_spans(title, &title_words);
            let longest = spans.iter().map(|span| span.length).max().unwrap_or_default();
            write_words(&mut writer, title, &title_words[..longest], &vec![true; longest]);
        }
        extraction.finish(writer, spans)
    }

    /// Returns the n-grams of a query that may be entities, sorted by first word, then the longest first. A date comes
    /// before other n-grams of its length. An n-gram that ends with a Korean particle is followed by the same n-gram
    /// without the particle.
    pub(crate) fn query_ngrams(&self, query: &str) -> Vec<QueryNgram> {
        let words = self.tokeniser.words(query, QUERY_WORDS_MAX);
        let mut ngrams = Vec::new();
        for first in 0..words.len() {
            let longest = words.len().min(first + ENTITY_WORDS_MAX);
            let ngram = |end: usize, hash: u64| QueryNgram {
                first,
                length: end - first,
                hash,
                surface: query[words[first].start..words[end - 1].end].to_owned(),
            };
            let mut hash = 0;
            let mut from_first: Vec<QueryNgram> = Vec::new();
            for end in first + 1..=longest {
                let last = &words[end - 1];
                // This n-gram is added before the n-gram with the particle, because the order is reversed below.
                if let Some(noun) = korean_noun(&query[last.start..last.end]) {
                    let mut without_particle = ngram(end, extend_hash(hash, word_hash(&form_of(noun))));
                    without_particle.surface.truncate(last.start - words[first].start + noun.len());
                    from_first.push(without_particle);
                }
                hash = extend_hash(hash, word_hash(&last.form));
                from_first.push(ngram(end, hash));
            }
            let date = date_at(&words[first..]).map(|(length, form)| ngram(first + length, entity_hash(&form)));
            from_first.extend(date);
            from_first.reverse();
            from_first.sort_by_key(|ngram| std::cmp::Reverse(ngram.length));
            ngrams.extend(from_first);
        }
        ngrams
    }
}

fn hash_of(words: &[Word]) -> u64 {
    words.iter().fold(0, |hash, word| extend_hash(hash, word_hash(&word.form)))
}

/// Returns spans for the title and its shorter forms, as far as they are short enough to be an entity.
fn title_spans(title: &str, words: &[Word]) -> Vec<Span> {
    let words_before = |end: usize| words.iter().take_while(|word| word.end <= end).count();
    let trimmed = title.trim_end();
    let bracket = if trimmed.ends_with([')', '）']) { trimmed.rfind(['(', '（']) } else { None };
    let comma = title.find([',', '，']).filter(|comma| is_entity_before_comma(&words[..words_before(*comma)]));
    let mut lengths = vec![words.len(), bracket.map_or(0, words_before), comma.map_or(0, words_before)];
    let are_short = |words: &[Word]| words.iter().all(|word| word.end - word.start <= SURFACE_BYTES_MAX);
    lengths.retain(|length| (1..=ENTITY_WORDS_MAX).contains(length) && are_short(&words[..*length]));
    lengths.sort_unstable();
    lengths.dedup();
    lengths.into_iter().map(|length| Span { first: 0, length, kind: TITLE, form: None }).collect()
}

/// Whether the part of a title before a comma is an entity. In "Mount Vernon, New York" it is, in "In 2008, they moved"
/// it is not: many titles are the beginning of a text (`docs/measurements.md`, "Entities at the beginning of a text").
fn is_entity_before_comma(words: &[Word]) -> bool {
    let begins_clause = words.first().is_some_and(|word| {
        is_function_word(&word.form) && !is_leading_connector(&word.form) || is_caseless_function_word(&word.form)
    });
    let is_capitalised = words.iter().all(|word| word.shape != Shape::Lower || is_connector(word));
    words.len() >= 2 && !begins_clause && !is_part_of_date(words) && is_capitalised
}

/// Writes the kept words of a text. The text between two kept words is written if they are consecutive.
fn write_words(writer: &mut RecordWriter, text: &str, words: &[Word], is_kept: &[bool]) {
    // No entity spans a longer gap, so a space replaces it.
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

/// Collects the mentions of one text. Ranges consist of word indexes.
struct Extraction<'text> {
    text: &'text str,
    words: &'text [Word],
    windows: Vec<Window>,
    spans: Vec<Span>,
}

impl Extraction<'_> {
    fn has_room(&self) -> bool {
        self.windows.len() + self.spans.len() < SPANS_MAX
    }

    /// Adds a mention, unless its number of words is not allowed or `SPANS_MAX` is reached.
    fn add_span(&mut self, first: usize, length: usize, kind: u8, form: Option<String>) {
        if self.has_room() && (1..=ENTITY_WORDS_MAX).contains(&length) {
            self.spans.push(Span { first, length, kind, form });
        }
    }

    fn add_windows(&mut self) {
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
                    self.add_capitalised(at, end);
                }
            }
            at = end.max(at + 1);
        }
    }

    fn caseless_end(&self, first: usize) -> usize {
        let more = self.words[first + 1..].iter().take(WINDOW_WORDS_MAX - 1);
        first + 1 + more.take_while(|word| word.shape == Shape::Caseless && word.gap == Gap::Join).count()
    }

    /// Returns the end of the window of capitalised words that begins at `first`, or `first` if no window begins there.
    fn capitalised_end(&self, first: usize) -> usize {
        let words = self.words;
        let begins = match words[first].shape {
            Shape::Capital => words[first].form != "i",
            // A number begins a window only before a capitalised word: "12 Angry Men", not "in 1990 she".
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

    /// Splits a window at gaps and separators, and adds each part as one mention.
    fn add_capitalised(&mut self, first: usize, end: usize) {
        let words = self.words;
        let mut start = first;
        for (at, word) in words.iter().enumerate().take(end).skip(first + 1) {
            if word.gap > Gap::Join || is_separator(word) {
                self.add_capitalised_run(start, at);
                start = at + usize::from(is_separator(word));
            }
        }
        self.add_capitalised_run(start, end);
    }

    /// Adds one capitalised run as a mention. Words at either end that do not belong to the entity are left out.
    fn add_capitalised_run(&mut self, mut start: usize, mut end: usize) {
        let words = self.words;
        // A final "I" before another word is the pronoun: "she told Ann I was", but "Elizabeth I, queen".
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
        let original_start = start;
        while start < end {
            let word = &words[start];
            let is_leading = word.shape != Shape::Capital
                || (starts_sentence && is_function_word(&word.form) && !self.is_initial(word));
            if !is_leading {
                break;
            }
            start += 1;
        }
        let is_no_entity = is_part_of_date(&words[start..end])
            || end - start == 1
                && ((starts_sentence && start == original_start)
                    || is_function_word(&words[start].form)
                    || is_month(&words[start])
                    || self.is_mark(start));
        if start < end && !is_no_entity {
            self.add_span(start, end - start, CAPITALISED, None);
        }
    }

    /// Whether a word is a letter with a dot. "J." is an initial, although "j" is a function word in French.
    fn is_initial(&self, word: &Word) -> bool {
        is_letter(&self.text[word.start..word.end]) && self.text[word.end..].starts_with('.')
    }

    /// Whether a word is a letter that is no name: it marks an item, as in "(A)", stands for a longer word, as in
    /// "E. coli", or belongs to the word before it, as in "gate B".
    fn is_mark(&self, at: usize) -> bool {
        let word = &self.words[at];
        let after = &self.text[word.end..];
        let follows_dot = after.strip_prefix('.').and_then(|rest| rest.trim_start().chars().next());
        is_letter(&self.text[word.start..word.end])
            && (after.starts_with([')', ']'])
                || follows_dot.is_some_and(char::is_lowercase)
                || is_designated(&self.words[..=at]))
    }

    fn add_dates(&mut self) {
        let mut at = 0;
        while at < self.words.len() {
            let found = date_at(&self.words[at..]);
            let length = found.as_ref().map_or(1, |(length, _)| *length);
            if let Some((length, form)) = found {
                self.add_span(at, length, DATE, Some(form));
            }
            at += length;
        }
    }

    fn add_phrases(&mut self, phrases: &PhraseSet) {
        if phrases.hashes.is_empty() {
            return;
        }
        let hashes: Vec<u64> = self.words.iter().map(|word| word_hash(&word.form)).collect();
        for first in 0..hashes.len() {
            let mut hash = 0;
            for (length, word) in (1usize..=ENTITY_WORDS_MAX).zip(&hashes[first..]) {
                hash = extend_hash(hash, *word);
                if phrases.lengths >> length & 1 == 1 && phrases.hashes.contains(&hash) {
                    self.add_span(first, length, PHRASE, None);
                }
            }
        }
    }

    fn add_quotations(&mut self) {
        let mut open: Option<(usize, &[char])> = None;
        for (at, c) in self.text.char_indices() {
            if let Some((start, _)) = open.filter(|(_, closers)| closers.contains(&c)) {
                self.add_quotation(start, at);
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

    /// Adds a quotation as a mention if it is written like a title, which begins with a capital, a number or a letter
    /// without case. Quoted text that ends with a comma or a full stop is speech and is not added.
    fn add_quotation(&mut self, start: usize, end: usize) {
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
            self.add_span(first, count, QUOTED, None);
        }
    }

    fn add_identifiers(&mut self) {
        let is_token_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-' | '/' | ':');
        let mut at = 0;
        while let Some(offset) = self.text[at..].find(is_token_char) {
            let start = at + offset;
            let end = self.text[start..].find(|c| !is_token_char(c)).map_or(self.text.len(), |length| start + length);
            at = end;
            if let Some((start, end)) = identifier(self.text, start, end) {
                let (first, count) = self.words_in(start, end);
                self.add_span(first, count, IDENTIFIER, None);
            }
        }
    }

    /// Returns the index of the first word between two byte positions, and the number of words between them.
    fn words_in(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.words.partition_point(|word| word.start < start);
        let last = self.words.partition_point(|word| word.end <= end);
        (first, last.saturating_sub(first))
    }

    /// Builds the record from the words that a window or span contains. These words are renumbered, so that they follow
    /// the words of the title.
    fn finish(self, mut writer: RecordWriter, mut spans: Vec<Span>) -> Vec<u8> {
        let title_words = spans.iter().map(|span| span.length).max().unwrap_or_default();
        let mut is_kept = vec![false; self.words.len()];
        let mut kept = 0;
        // A window or span that does not fit is left out as a whole.
        let mut keep = |first: usize, count: usize| {
            let words = &self.words[first..first + count];
            let added = is_kept[first..first + count].iter().filter(|is_kept| !**is_kept).count();
            let are_short = words.iter().all(|word| word.end - word.start <= SURFACE_BYTES_MAX);
            let fits = are_short && kept + added <= RECORD_WORDS_MAX;
            if fits {
                kept += added;
                is_kept[first..first + count].fill(true);
            }
            fits
        };
        let windows: Vec<Window> = self.windows.into_iter().filter(|window| keep(window.first, window.count)).collect();
        let kept_spans: Vec<Span> = self.spans.into_iter().filter(|span| keep(span.first, span.length)).collect();
        let new_indexes: Vec<usize> = is_kept
            .iter()
            .scan(title_words, |next, is_kept| {
                let index = *next;
                *next += usize::from(*is_kept);
                Some(index)
            })
            .collect();
        write_words(&mut writer, self.text, self.words, &is_kept);
        let windows: Vec<Window> =
            windows.into_iter().map(|window| Window { first: new_indexes[window.first], ..window }).collect();
        spans.extend(kept_spans.into_iter().map(|span| Span { first: new_indexes[span.first], ..span }));
        writer.finish(&windows, &spans)
    }
}

/// Returns the byte range of the part of a token that is an identifier: an address, or a word with digits or
/// underscores. `None` if no part of the token is an identifier.
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

/// Whether a token is an address like "a@b.org", "docs.example.com" or "config.toml": labels separated by dots, the
/// last one in lower-case letters.
fn is_address(token: &str) -> bool {
    let host = token.rsplit('@').next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let last = labels.last().copied().unwrap_or_default();
    labels.len() >= 2
        && labels.iter().all(|label| !label.is_empty() && !label.contains([':', '/']))
        && (2..=10).contains(&last.len())
        && last.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Whether a token is a number with a lower-case ending, like "21st", "10km", "1990s", "5-10" or "3rd-party".
fn is_quantity(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit()) && !token.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether the words are only months and numbers.
fn is_part_of_date(words: &[Word]) -> bool {
    words.iter().all(|word| is_month(word) || word.shape == Shape::Digits)
}

/// Whether a word may be inside an entity but not at its beginning or end.
fn is_connector(word: &Word) -> bool {
    word.shape == Shape::Lower && (is_inner_connector(&word.form) || is_separating_connector(&word.form))
}

/// Whether a word may separate two entities.
fn is_separator(word: &Word) -> bool {
    word.shape == Shape::Lower && is_separating_connector(&word.form)
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

    /// Returns the mentions of a passage that have a kind, as (letter of the kind, surface form), in order and without
    /// duplicates.
    fn mentions_by_kind(passage: &str, title: Option<&str>, phrases: &[&str]) -> Vec<(char, String)> {
        let extractor = MentionExtractor::default();
        let phrases: Vec<String> = phrases.iter().map(|phrase| (*phrase).to_owned()).collect();
        let record = extractor.record(passage, title, &extractor.phrases(&phrases));
        let mut found = Vec::new();
        let read = RecordReader::default().each_mention(&record, |mention| {
            let kinds =
                [(TITLE, 't'), (CAPITALISED, 'c'), (QUOTED, 'q'), (IDENTIFIER, 'i'), (DATE, 'd'), (PHRASE, 'k')];
            for (_, letter) in kinds.iter().filter(|(mark, _)| mention.marks & mark != 0) {
                let entity = (*letter, mention.surface.to_owned());
                if !found.contains(&entity) {
                    found.push(entity);
                }
            }
        });
        read.expect("a record");
        found
    }

    fn surfaces_of_kind(passage: &str, kind: char) -> Vec<String> {
        mentions_by_kind(passage, None, &[])
            .into_iter()
            .filter(|(found, _)| *found == kind)
            .map(|(_, entity)| entity)
            .collect()
    }

    #[test]
    fn capitalised_entities_are_found_in_languages_with_case() {
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
            assert_eq!(surfaces_of_kind(passage, 'c'), expected, "{passage}");
        }
    }

    #[test]
    fn a_single_letter_joins_words_only_as_an_initial() {
        for (passage, expected) in [
            ("The gauge needs 12 V and 80 mA.", vec![]),
            ("The battery is below 11.2 V. Lena saw it.", vec![]),
            ("Bake it at 180 °C. It keeps for days.", vec![]),
            ("The heater draws 1500 W. The fuse holds 16 A. Ask first.", vec![]),
            ("Lena takes vitamin C. It helps Omar.", vec!["Omar"]),
            ("They chose Plan B. Lena agreed with Omar.", vec!["Plan B", "Omar"]),
            ("We meet at gate B. Then Omar comes.", vec!["Omar"]),
            ("Er nimmt Vitamin C. Danach ruft Omar an.", vec!["Vitamin C", "Omar"]),
            ("Choose (A) or (B), said Omar.", vec!["Omar"]),
            ("They found E. coli in the lake of Bergen.", vec!["Bergen"]),
            ("Then George W. Bush met J. R. R. Tolkien.", vec!["George W. Bush", "J. R. R. Tolkien"]),
            ("In 1962 J. Smith met Harry S. Truman.", vec!["J. Smith", "Harry S. Truman"]),
            ("C. S. Lewis wrote to D. H. Lawrence.", vec!["C. S. Lewis", "D. H. Lawrence"]),
            ("Later K. He, E. De Niro and Theresa M. May spoke.", vec!["K. He", "E. De Niro", "Theresa M. May"]),
            ("She left the U. S. Army for X on the day.", vec!["U. S. Army", "X"]),
        ] {
            assert_eq!(surfaces_of_kind(passage, 'c'), expected, "{passage}");
        }
    }

    #[test]
    fn the_part_of_a_title_before_a_comma_is_an_entity_only_if_it_is_written_like_one() {
        let titles = |title: &str| -> Vec<String> {
            mentions_by_kind("", Some(title), &[])
                .into_iter()
                .filter(|(kind, _)| *kind == 't')
                .map(|(_, entity)| entity)
                .collect()
        };
        for (title, entity) in [
            ("Mount Vernon, New York", "Mount Vernon"),
            ("The Hague, South Holland", "The Hague"),
            ("Bank of England, London", "Bank of England"),
            ("Los Angeles, Kalifornien", "Los Angeles"),
            ("北京 大学，中国", "北京 大学"),
        ] {
            assert!(titles(title).contains(&entity.to_owned()), "{title}: {:?}", titles(title));
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
            let found = surfaces_of_kind(passage, 'c');
            for entity in expected {
                assert!(found.contains(&(*entity).to_owned()), "{passage}: {entity} is not in {found:?}");
            }
        }
    }

    #[test]
    fn function_words_are_not_entities_and_neither_begin_nor_end_one() {
        for (passage, function_words, entities) in [
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
            let found = surfaces_of_kind(passage, 'c');
            for word in function_words.split(' ') {
                let has = |entity: &&String| {
                    let extractor = MentionExtractor::default();
                    let words: Vec<String> =
                        extractor.tokeniser.words(entity, 9).into_iter().map(|word| word.form).collect();
                    let form = crate::entities::words::form_of(word);
                    words.first() == Some(&form) || words.last() == Some(&form)
                };
                assert_eq!(found.iter().find(has), None, "{passage}: {word}");
            }
            for entity in entities.split(' ') {
                assert!(found.contains(&entity.to_owned()), "{passage}: {entity} is not in {found:?}");
            }
        }
    }

    #[test]
    fn a_function_word_inside_a_title_or_a_quotation_is_kept() {
        assert_eq!(surfaces_of_kind("她听《因为爱情》和《我们》。", 'q'), ["因为爱情"]);
        assert_eq!(
            surfaces_of_kind("그는 「그리고 아무도 없었다」와 「그리고」를 읽었다", 'q'),
            ["그리고 아무도 없었다"]
        );
        let titled = mentions_by_kind("본문", Some("우리 그리고 서울"), &["있다", "서울 그리고 부산"]);
        assert!(titled.contains(&('t', "우리 그리고 서울".to_owned())), "{titled:?}");
        let tagged = mentions_by_kind("서울 그리고 부산 있다", None, &["있다", "서울 그리고 부산"]);
        let phrases: Vec<&str> =
            tagged.iter().filter(|(kind, _)| *kind == 'k').map(|(_, entity)| entity.as_str()).collect();
        assert_eq!(phrases, ["서울 그리고 부산"]);
    }

    #[test]
    fn a_korean_noun_is_the_same_entity_with_any_particle() {
        let extractor = MentionExtractor::default();
        let found = surfaces_of_kind("서울에서 한라산은 부산까지 학교 운동장을", 'c');
        assert_eq!(found, ["서울", "한라산", "부산", "학교", "학교 운동장", "운동장"]);
        let hash = |text: &str| extractor.query_ngrams(text).first().map(|ngram| ngram.hash);
        for (query, entity) in [("서울에서는 무엇을", "서울"), ("학교 운동장에", "학교 운동장"), ("서울", "서울")]
        {
            let ngrams = extractor.query_ngrams(query);
            let ngram = ngrams.iter().find(|ngram| Some(ngram.hash) == hash_of_entity(&extractor, entity));
            assert_eq!(ngram.map(|ngram| (ngram.first, ngram.surface.as_str())), Some((0, entity)), "{query}");
        }
        // The n-gram with the particle comes before the n-gram without it.
        assert_eq!(extractor.query_ngrams("서울에서")[0].surface, "서울에서");
        assert_ne!(hash("서울에서"), hash("서울"));
    }

    fn hash_of_entity(extractor: &MentionExtractor, entity: &str) -> Option<u64> {
        extractor.query_ngrams(entity).iter().find(|ngram| ngram.surface == entity).map(|ngram| ngram.hash)
    }

    #[test]
    fn a_record_older_than_a_function_word_gives_the_same_entities() {
        let mut writer = RecordWriter::default();
        for (between, surface) in [("", "그리고"), (" ", "서울에서"), (" ", "있다")] {
            writer.word(between, surface, &crate::entities::words::form_of(surface), Role::Plain);
        }
        let record = writer.finish(&[Window { first: 0, count: 3, is_caseless: true }], &[]);
        let mut entities = Vec::new();
        let read = RecordReader::default().each_mention(&record, |mention| entities.push(mention.surface.to_owned()));
        read.expect("a record");
        assert_eq!(entities, ["서울"]);
    }

    #[test]
    fn quotations_are_entities_if_they_are_written_like_titles() {
        for (passage, expected) in [
            ("He sang “Imagine All” and \"Hey Jude\".", vec!["Imagine All", "Hey Jude"]),
            ("“Do come in,” she said. \"Never!\" “not a title”", vec![]),
            ("Er las „Die Verwandlung“ gern, „Krieg und Frieden” auch.", vec!["Die Verwandlung", "Krieg und Frieden"]),
            ("Il a lu «Les Misérables» hier.", vec!["Les Misérables"]),
            ("他读了《红楼梦》。", vec!["红楼梦"]),
            ("彼は「千と千尋」と『雪国』を", vec!["千と千尋", "雪国"]),
            ("a \" lone mark, “ and another", vec![]),
        ] {
            assert_eq!(surfaces_of_kind(passage, 'q'), expected, "{passage}");
        }
    }

    #[test]
    fn identifiers_are_distinguished_from_numbers_and_words() {
        let passage = "Bug ABC-123 in parse_header, mail ada.l@example.co.uk or see https://docs.rs/tantivy/0.2, file config.toml, \
                       COVID19, not 21st, 10km, 1990s, 3.5, e.g. and/or end.";
        let expected = ["ABC-123", "parse_header", "ada.l@example.co.uk", "docs.rs", "config.toml", "COVID19"];
        assert_eq!(surfaces_of_kind(passage, 'i'), expected);
    }

    #[test]
    fn a_date_is_the_same_entity_in_every_notation() {
        let hashes = |passage: &str| {
            let extractor = MentionExtractor::default();
            let record = extractor.record(passage, None, &PhraseSet::default());
            let mut found = Vec::new();
            let mut reader = RecordReader::default();
            let collect_dates = |mention: crate::entities::record::Mention<'_>| {
                if mention.marks & DATE != 0 {
                    found.push(mention.hash);
                }
            };
            reader.each_mention(&record, collect_dates).expect("a record");
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
            assert_eq!(hashes(passage), [entity_hash("2023 05 08")], "{passage}");
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
    fn titles_and_phrases_are_entities_of_the_chunk() {
        let entities_of_title = |title| {
            let found = mentions_by_kind("text", Some(title), &[]);
            found.into_iter().map(|(_, entity)| entity).collect::<Vec<_>>()
        };
        assert_eq!(
            entities_of_title("Theodred II (Bishop of Elmham)"),
            ["Theodred II", "Theodred II (Bishop of Elmham"]
        );
        assert_eq!(
            entities_of_title("Georg Friedrich, Prince of Prussia"),
            ["Georg Friedrich", "Georg Friedrich, Prince of Prussia"]
        );
        assert_eq!(entities_of_title("Paris, Texas"), ["Paris, Texas"]);
        assert_eq!(entities_of_title("eight words are one more than an entity"), [""; 0]);
        assert_eq!(entities_of_title(" — "), [""; 0]);
        let found = mentions_by_kind("we use Machine-Learning daily", None, &["machine learning", "deep learning", ""]);
        assert_eq!(found.iter().find(|(kind, _)| *kind == 'k'), Some(&('k', "Machine-Learning".to_owned())));
        assert_eq!(found.iter().filter(|(kind, _)| *kind == 'k').count(), 1);
    }

    #[test]
    fn spelling_variants_are_the_same_entity() {
        let hash = |surface: &str| {
            let ngrams = MentionExtractor::default().query_ngrams(surface);
            ngrams.first().map(|ngram| (ngram.hash, ngram.length))
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
    fn hostile_texts_stay_within_the_bounds() {
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
        let extractor = MentionExtractor::default();
        let phrases = extractor.phrases(&phrases);
        for text in &texts {
            let record = extractor.record(text, Some(text), &phrases);
            let (mut mentions, mut declared) = (0, 0);
            let count = |mention: crate::entities::record::Mention<'_>| {
                mentions += 1;
                declared += usize::from(mention.marks & DECLARED != 0);
            };
            RecordReader::default().each_mention(&record, count).expect("a record");
            let label = &text[..text.floor_char_boundary(12)];
            assert!(mentions <= RECORD_WORDS_MAX * ENTITY_WORDS_MAX + SPANS_MAX, "{label}: {mentions}");
            assert!(declared <= RECORD_WORDS_MAX * 2 + SPANS_MAX, "{label}: {declared}");
            assert!(record.len() <= 200_000, "{label}: {} bytes", record.len());
            assert!(extractor.query_ngrams(text).len() <= QUERY_WORDS_MAX * (2 * ENTITY_WORDS_MAX + 1), "{label}");
        }
    }

    #[test]
    fn bytes_that_are_not_a_record_are_refused() {
        let mut chance = mneme_testing::Chance::new();
        let extractor = MentionExtractor::default();
        let phrases = extractor.phrases(&["good year".to_owned()]);
        let passage = "Élan met “Die Verwandlung” on 8 May 2023, a good year for ABC-123 in 北京大学.";
        let sound = extractor.record(passage, Some("A Title (of sorts)"), &phrases);
        let mut reader = RecordReader::default();
        for end in 1..sound.len() {
            assert!(reader.each_mention(&sound[..end], |_| ()).is_err(), "cut to {end} bytes");
        }
        for _ in 0..2_000 {
            let mut flipped = sound.clone();
            flipped[chance.below(sound.len())] ^= 1 << chance.below(8);
            // Some of these changed records are still valid. No read may go beyond the end.
            let _ = reader.each_mention(&flipped, |mention| assert!(mention.surface.len() <= flipped.len()));
        }
    }
}
