//! Finds things that people write in several notations: numbers (1,234.50 and 1 234,50), times of day (3:30 pm and
//! 15h30), codes (AB-1234 and AB1234), powers (10⁶ and 10^6), words with a footnote mark (Smith²), and emoji. All
//! notations of a thing share one term, which is indexed in addition to the words of a document. So everything that
//! words alone find is still found.

use std::borrow::Cow;
use std::ops::Range;

/// Marks the place before superscript digits. Without it, NFKC would join them to the character before: "10⁶" would
/// become "106".
const RAISED: char = '\u{1}';
/// Maximum number of characters of a number or a code. Longer ones are data that nobody types in another notation.
const CHARACTERS_MAX: usize = 32;
/// Maximum number of letters in a part of a code that a space separates from the digits, such as "AB" in "AB 1234".
const SPACED_LETTERS_MAX: usize = 5;
/// Maximum number of parts of a code whose parts are separated by spaces.
const SPACED_UNITS_MAX: usize = 4;
/// Minimum number of digits of a code without letters, such as 555-0142.
const CODE_DIGITS_MIN: usize = 6;
/// Minimum number of letters of a word that is also found without its footnote mark: "Smith²", but not "cm²".
const MARKED_LETTERS_MIN: usize = 3;
/// Minimum number of digits before the decimal point for which 250.5 and 250.50 are the same number. With fewer digits,
/// such as 1.5 and 1.50, they are often different versions of something.
const PADDED_DIGITS_MIN: usize = 3;

/// Words that follow an hour, or hours and minutes: "15 Uhr 30".
const HOUR_WORDS: &[&str] = &["h", "hr", "hrs", "hours", "uhr", "uur", "ч"];
/// Words that precede a time whose hours and minutes are separated by a full stop: "klo 15.30".
const CLOCK_WORDS: &[&str] =
    &["kl", "klo", "kello", "godz", "ore", "alle", "um", "gegen", "saat", "pukul", "jam", "в", "at", "kell", "om"];
/// Words that precede a time and say that it is before noon.
const MORNING: &[&str] = &["午前", "上午", "早上", "凌晨", "오전"];
/// Words that precede a time and say that it is after noon.
const AFTERNOON: &[&str] = &["午後", "下午", "晚上", "傍晚", "오후"];

/// A piece of a text that has other notations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notation {
    /// The piece as it is in the text, without the characters that `mark_raised` adds.
    pub(crate) source: String,
    pub(crate) named: Named,
}

/// The thing that a notation stands for, in a form that all its notations share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// A number in the form of `canonical_number`.
    Number(String),
    /// A time of day.
    Time(TimeOfDay),
    /// A code without its separators, a power, or a word without its footnote mark. It is stemmed like any word.
    Word(String),
    /// An emoji without skin tones.
    Emoji(String),
}

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeOfDay {
    hour: u32,
    minute: u32,
    /// Whether the hour may also be meant after noon, as in "3:30" without am, pm or a leading zero.
    is_either_half: bool,
}

impl TimeOfDay {
    /// The term that a document with this time gets.
    fn term(self) -> String {
        let TimeOfDay { hour, minute, is_either_half } = self;
        if is_either_half { format!("{hour}:{minute:02}?") } else { format!("{hour:02}:{minute:02}") }
    }

    /// The terms of all documents with a time that may be the same.
    fn readings(self) -> Vec<String> {
        let TimeOfDay { hour, minute, is_either_half } = self;
        let mut readings = vec![format!("{hour:02}:{minute:02}")];
        if is_either_half {
            readings.push(format!("{:02}:{minute:02}", hour + 12));
        }
        if (1..12).contains(&(hour % 12)) {
            readings.push(format!("{}:{minute:02}?", hour % 12));
        }
        readings
    }
}

impl Named {
    /// The term that a document with this notation gets.
    pub(crate) fn term(&self) -> String {
        match self {
            Named::Time(time) => time.term(),
            Named::Number(term) | Named::Word(term) | Named::Emoji(term) => term.clone(),
        }
    }

    /// The terms of all documents with a notation that may stand for the same thing.
    pub(crate) fn readings(&self) -> Vec<String> {
        match self {
            Named::Time(time) => time.readings(),
            Named::Number(number) => number_readings(number),
            Named::Word(term) | Named::Emoji(term) => vec![term.clone()],
        }
    }

    /// Whether the parts of the notation mean little without each other, such as the 1 and the 234,50 of "1 234,50".
    pub(crate) fn has_weak_parts(&self) -> bool {
        match self {
            Named::Word(term) => term.contains('^'),
            Named::Number(_) | Named::Time(_) | Named::Emoji(_) => true,
        }
    }

    /// Whether the terms are stemmed, as those of words are.
    pub(crate) fn is_stemmed(&self) -> bool {
        matches!(self, Named::Word(_))
    }
}

/// Puts `RAISED` before superscript digits that follow a letter or digit, and writes a superscript minus as "-". Must
/// run before normalisation (NFKC), which turns the digits into ordinary ones.
pub(crate) fn mark_raised(text: &str) -> Cow<'_, str> {
    if !text.contains(is_raised) {
        return Cow::Borrowed(text);
    }
    let mut marked = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_raised(c) && marked.chars().next_back().is_some_and(|last| last.is_alphanumeric() && !is_raised(last)) {
            marked.push(RAISED);
        }
        marked.push(if c == '⁻' { '-' } else { c });
    }
    Cow::Owned(marked)
}

fn is_raised(c: char) -> bool {
    matches!(c, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '⁻')
}

/// Whether a text may contain a notation, because it has a digit, an underscore or an emoji. A fast check before
/// normalisation.
pub(crate) fn may_be_in(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_digit() || c == '_' || (!c.is_ascii() && (c.is_numeric() || is_emoji(c))))
}

/// The notations in a text that is normalised but keeps its capital letters. In a query (`is_query`), the parts of a
/// code may be separated by spaces even in small letters, because people type queries without capitals.
pub(crate) fn find(text: &str, is_query: bool) -> Vec<Notation> {
    let scan = Scan { text, pieces: pieces_of(text), is_query };
    let mut found = Vec::new();
    scan.numbers(&mut found);
    scan.times(&mut found);
    scan.codes(&mut found);
    scan.emoji(&mut found);
    found
}

/// A run of digits, or of letters of a script with spaces between words.
struct Piece {
    range: Range<usize>,
    is_digits: bool,
}

/// Consecutive pieces with nothing or one separator between them. A code without spaces is one unit.
struct Unit {
    /// Indices of its pieces.
    pieces: Range<usize>,
    /// Whether it may be a code: none of its separators is that of a number with decimals, a list or a time.
    is_code: bool,
    /// Whether it may be one part of a code whose parts are separated by spaces. In documents, its letters must be
    /// capitals.
    is_spaced_part: bool,
    has_letters: bool,
    /// Whether it has two digits or more.
    has_digits: bool,
}

struct Scan<'text> {
    text: &'text str,
    pieces: Vec<Piece>,
    is_query: bool,
}

fn pieces_of(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (start, c) in text.char_indices() {
        let is_digits = c.is_ascii_digit();
        let is_letter = c.is_alphabetic() && is_spaced(c);
        if !is_digits && !is_letter {
            continue;
        }
        let end = start + c.len_utf8();
        match pieces.last_mut() {
            Some(last) if last.range.end == start && last.is_digits == is_digits => last.range.end = end,
            _ => pieces.push(Piece { range: start..end, is_digits }),
        }
    }
    pieces
}

/// Whether a letter belongs to a script that separates words by spaces: the code points before the scripts of South and
/// South-East Asia, and the extended Latin and Greek ones.
fn is_spaced(c: char) -> bool {
    c < '\u{900}' || matches!(c, '\u{1E00}'..='\u{1FFF}')
}

impl<'text> Scan<'text> {
    fn piece(&self, at: usize) -> &'text str {
        self.pieces.get(at).map_or("", |piece| &self.text[piece.range.clone()])
    }

    fn is_digits(&self, at: usize) -> bool {
        self.pieces.get(at).is_some_and(|piece| piece.is_digits)
    }

    /// Whether a piece consists of digits, as many as `count` allows.
    fn has_digits(&self, at: usize, count: std::ops::RangeInclusive<usize>) -> bool {
        self.is_digits(at) && count.contains(&self.piece(at).len())
    }

    /// The text between a piece and the next one; after the last piece, the rest of the text.
    fn gap(&self, at: usize) -> &'text str {
        let start = self.pieces[at].range.end;
        let end = self.pieces.get(at + 1).map_or(self.text.len(), |next| next.range.start);
        &self.text[start..end]
    }

    /// The text between the previous piece and this one.
    fn gap_before(&self, at: usize) -> &'text str {
        let start = if at == 0 { 0 } else { self.pieces[at - 1].range.end };
        &self.text[start..self.pieces[at].range.start]
    }

    /// The text of some pieces with what is between them, without the character `RAISED`.
    fn source(&self, pieces: Range<usize>) -> String {
        self.text[self.bytes(pieces)].replace(RAISED, "")
    }

    /// Whether a piece is followed by a separator and more digits, so that it is not the end of a number.
    fn continues_as_number(&self, at: usize) -> bool {
        self.is_digits(at + 1) && matches!(self.gap(at), "." | "," | "'" | ":")
    }

    /// Finds numbers with separators, except those that are already written like their term.
    fn numbers(&self, found: &mut Vec<Notation>) {
        let mut at = 0;
        while at < self.pieces.len() {
            if !self.is_digits(at) {
                at += 1;
                continue;
            }
            let mut end = at + 1;
            while self.is_digits(end) && matches!(self.gap(end - 1), "." | "," | "'") {
                end += 1;
            }
            let (joined, spaced_end) = self.spaced_number(at, end);
            let pieces = at..spaced_end;
            if let Some(number) = joined.or_else(|| canonical_number(&self.text[self.bytes(at..end)])) {
                let source = self.source(pieces.clone());
                if source != number {
                    found.push(Notation { source, named: Named::Number(number) });
                }
            }
            at = pieces.end;
        }
    }

    fn bytes(&self, pieces: Range<usize>) -> Range<usize> {
        self.pieces[pieces.start].range.start..self.pieces[pieces.end - 1].range.end
    }

    /// Reads a number whose thousands are separated by spaces. Returns it with the index after its last piece; `None`
    /// with `end` if there is no such number.
    fn spaced_number(&self, at: usize, end: usize) -> (Option<String>, usize) {
        let is_group = |at: usize| self.gap(at - 1) == " " && self.has_digits(at, 3..=3);
        let follows_digits = at > 0 && self.is_digits(at - 1) && self.gap_before(at) == " ";
        if end != at + 1 || !self.has_digits(at, 1..=3) || self.piece(at).starts_with('0') || follows_digits {
            return (None, end);
        }
        let mut groups_end = end;
        while groups_end < self.pieces.len() && is_group(groups_end) {
            groups_end += 1;
        }
        if groups_end == end {
            return (None, end);
        }
        let integer: String = (at..groups_end).map(|piece| self.piece(piece)).collect();
        let last = groups_end - 1;
        if self.is_digits(groups_end) && matches!(self.gap(last), "." | ",") {
            let has_more =
                self.continues_as_number(groups_end) || (self.is_digits(groups_end + 1) && self.gap(groups_end) == " ");
            let number = format!("{integer}.{}", self.piece(groups_end));
            return if has_more || number.len() > CHARACTERS_MAX {
                (None, end)
            } else {
                (Some(number), groups_end + 1)
            };
        }
        let has_more = self.is_digits(groups_end) && matches!(self.gap(last), " " | "-" | "/" | ":" | "'");
        if has_more || integer.len() > CHARACTERS_MAX { (None, end) } else { (Some(integer), groups_end) }
    }

    fn times(&self, found: &mut Vec<Notation>) {
        let mut at = 0;
        while at < self.pieces.len() {
            match self.time_at(at) {
                Some((time, end)) => {
                    found.push(Notation { source: self.source(at..end), named: Named::Time(time) });
                    at = end;
                }
                None => at += 1,
            }
        }
    }

    /// Reads the time of day that begins with a piece. Returns it with the index after its last piece.
    fn time_at(&self, at: usize) -> Option<(TimeOfDay, usize)> {
        let before = self.gap_before(at);
        let is_within_number = at > 0 && self.is_digits(at - 1) && matches!(before, "." | "," | ":" | "'" | "-" | "/");
        if !self.has_digits(at, 1..=4) || is_within_number || (at > 0 && before.is_empty()) {
            return None;
        }
        let gap = self.gap(at);
        let is_joined = matches!(gap, "" | " ");
        // 1530 h
        if self.has_digits(at, 4..=4) {
            let is_hour_word = is_joined && self.is_word(at + 1, HOUR_WORDS);
            let (hour, minute) = self.piece(at).split_at(2);
            return if is_hour_word { time_of(hour, minute, None).map(|time| (time, at + 2)) } else { None };
        }
        if !self.has_digits(at, 1..=2) {
            return None;
        }
        let hour = self.piece(at);
        let has_minutes = self.has_digits(at + 1, 2..=2);
        if gap == ":" && has_minutes {
            let seconds = usize::from(self.gap(at + 1) == ":" && self.has_digits(at + 2, 2..=2));
            let end = at + 2 + seconds;
            if matches!(self.gap(end - 1), ":" | "." | ",") && self.is_digits(end) {
                return None;
            }
            return self.with_half(hour, self.piece(at + 1), end);
        }
        if gap == "." && has_minutes && !self.continues_as_number(at + 1) {
            let is_named = matches!(self.gap(at + 1), "" | " ") && self.is_word(at + 2, HOUR_WORDS);
            let is_led = at > 0 && matches!(before, " " | ". ") && self.is_word(at - 1, CLOCK_WORDS);
            if is_named {
                return time_of(hour, self.piece(at + 1), None).map(|time| (time, at + 3));
            }
            let timed = self.with_half(hour, self.piece(at + 1), at + 2)?;
            return (is_led || timed.1 > at + 2).then_some(timed);
        }
        // 15h30, 15 h 30, 15 Uhr 30, 15 Uhr
        if is_joined && self.is_word(at + 1, HOUR_WORDS) {
            let behind = self.gap(at + 1);
            if matches!(behind, "" | " ") && self.has_digits(at + 2, 2..=2) && !self.continues_as_number(at + 2) {
                return time_of(hour, self.piece(at + 2), None).map(|time| (time, at + 3));
            }
            return if self.is_word(at + 1, &["uhr"]) {
                time_of(hour, "00", None).map(|time| (time, at + 2))
            } else {
                None
            };
        }
        if let Some(marked) = self.with_half(hour, "00", at + 1)
            && marked.1 > at + 1
        {
            return Some(marked);
        }
        self.east_asian_time(at, gap)
    }

    /// Reads a Chinese, Japanese or Korean time, such as 15時30分, 오후 3시 반 or 下午3点半.
    fn east_asian_time(&self, at: usize, gap: &str) -> Option<(TimeOfDay, usize)> {
        let rest = gap.trim_start().strip_prefix(['時', '时', '点', '點', '시'])?;
        if rest.starts_with(['間', '间', '간']) {
            return None;
        }
        let before = self.gap_before(at).trim_end();
        let ends_with = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
        let half = if ends_with(MORNING) { Some(false) } else { ends_with(AFTERNOON).then_some(true) };
        let has_minutes = rest.trim().is_empty()
            && self.has_digits(at + 1, 1..=2)
            && self.gap(at + 1).trim_start().starts_with(['分', '분']);
        let (minute, end) = if has_minutes { (self.piece(at + 1), at + 2) } else { ("0", at + 1) };
        let minute = if rest.trim_start().starts_with(['半', '반']) { "30" } else { minute };
        time_of(self.piece(at), minute, half).map(|time| (time, end))
    }

    /// Reads "am" or "pm" after a time whose last piece is before `end`. Returns the time with the index after its last
    /// piece.
    fn with_half(&self, hour: &str, minute: &str, end: usize) -> Option<(TimeOfDay, usize)> {
        let is_near = matches!(self.gap(end - 1), "" | " ");
        let letters = self.piece(end);
        let is = |word: &str| is_near && !self.is_digits(end) && letters.eq_ignore_ascii_case(word);
        let is_dotted = self.gap_of(end) == "." && self.piece(end + 1).eq_ignore_ascii_case("m");
        let half = match () {
            () if is("am") || (is("a") && is_dotted) => Some(false),
            () if is("pm") || (is("p") && is_dotted) => Some(true),
            () => None,
        };
        let behind = match half {
            None => end,
            Some(_) if letters.len() == 1 => end + 2,
            Some(_) => end + 1,
        };
        time_of(hour, minute, half).map(|time| (time, behind))
    }

    /// Like `gap`, but empty for an index after the last piece.
    fn gap_of(&self, at: usize) -> &'text str {
        if at < self.pieces.len() { self.gap(at) } else { "" }
    }

    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        if at >= self.pieces.len() || self.is_digits(at) {
            return false;
        }
        let word = self.piece(at).to_lowercase();
        words.contains(&word.as_str())
    }

    /// The units of the text, in order.
    fn units(&self) -> Vec<Unit> {
        let mut joined: Vec<(Range<usize>, bool)> = Vec::new();
        for at in 0..self.pieces.len() {
            let gap = self.gap_before(at);
            let joins = at > 0
                && matches!(
                    gap,
                    "" | "-"
                        | "\u{2010}"
                        | "\u{2013}"
                        | "/"
                        | "_"
                        | "^"
                        | "\u{1}"
                        | "^-"
                        | "\u{1}-"
                        | "."
                        | ","
                        | "'"
                        | ":"
                );
            match joined.last_mut().filter(|_| joins) {
                Some((pieces, is_code)) => {
                    let is_point = gap == "." && self.is_digits(at - 1) && self.is_digits(at);
                    pieces.end = at + 1;
                    *is_code &= !(is_point || matches!(gap, "," | "'" | ":"));
                }
                None => joined.push((at..at + 1, true)),
            }
        }
        joined.into_iter().map(|(pieces, is_code)| self.unit(pieces, is_code)).collect()
    }

    fn unit(&self, pieces: Range<usize>, is_code: bool) -> Unit {
        let text = &self.text[self.bytes(pieces.clone())];
        let has_letters = pieces.clone().any(|at| !self.is_digits(at));
        let digits: usize = pieces.clone().filter(|at| self.is_digits(*at)).map(|at| self.piece(at).len()).sum();
        let is_short = digits > 0 || text.chars().filter(|c| c.is_alphabetic()).count() <= SPACED_LETTERS_MAX;
        let is_spaced_part = is_code && is_short && (self.is_query || !text.chars().any(char::is_lowercase));
        Unit { pieces, is_code, is_spaced_part, has_letters, has_digits: digits > 1 }
    }

    /// Finds codes with separators, powers, and words with footnote marks.
    fn codes(&self, found: &mut Vec<Notation>) {
        let units = self.units();
        for (number, unit) in units.iter().enumerate() {
            self.code_of(unit, found);
            for end in number + 2..=units.len().min(number + SPACED_UNITS_MAX) {
                if !units[end - 1].is_spaced_part || self.gap_before(units[end - 1].pieces.start) != " " {
                    break;
                }
                self.spaced_code(&units[number..end], found);
            }
        }
    }

    fn code_of(&self, unit: &Unit, found: &mut Vec<Notation>) {
        let Range { start, end } = unit.pieces.clone();
        if end - start < 2 {
            return;
        }
        let gaps = || (start + 1..end).map(|at| self.gap_before(at));
        let source = || self.source(start..end);
        let raised = (start + 1..end).find(|at| self.gap_before(*at).starts_with(['^', RAISED]));
        if let Some(at) = raised {
            if at + 1 != end || !self.is_digits(at) {
                return;
            }
            let sign = if self.gap_before(at).ends_with('-') { "-" } else { "" };
            let base = self.source(start..at);
            let is_raised = self.gap_before(at).starts_with(RAISED);
            let is_number = (start..at).all(|piece| self.is_digits(piece));
            if is_number || !sign.is_empty() {
                found.push(Notation {
                    source: source(),
                    named: Named::Word(format!("{}^{sign}{}", base.to_lowercase(), self.piece(at))),
                });
            } else if !is_raised && unit.is_code {
                self.push_code(unit.pieces.clone(), found);
            }
            // Normalisation has joined the mark to the word, so the document lacks the word itself.
            let letters = base.chars().filter(|c| c.is_alphabetic()).count();
            if is_raised && !self.is_query && (is_number || letters >= MARKED_LETTERS_MIN) {
                found.push(Notation { source: source(), named: Named::Word(base.to_lowercase()) });
            }
            return;
        }
        if !unit.is_code {
            return;
        }
        let digits: usize = (start..end).filter(|at| self.is_digits(*at)).map(|at| self.piece(at).len()).sum();
        let has_letters = (start..end).any(|at| !self.is_digits(at));
        let has_underscore = gaps().any(|gap| gap == "_");
        if has_underscore && !self.is_query {
            // The segmenter treats an underscore as a letter, so the document lacks the words between underscores.
            for at in start..end {
                found.push(Notation { source: source(), named: Named::Word(self.piece(at).to_lowercase()) });
            }
        }
        let is_separated = gaps().any(|gap| !gap.is_empty());
        let is_code = has_underscore || if has_letters { digits > 0 } else { digits >= CODE_DIGITS_MIN };
        if is_separated && is_code {
            self.push_code(unit.pieces.clone(), found);
        }
    }

    fn push_code(&self, pieces: Range<usize>, found: &mut Vec<Notation>) {
        let code: String = pieces.clone().map(|at| self.piece(at)).collect::<String>().to_lowercase();
        if code.chars().count() <= CHARACTERS_MAX {
            found.push(Notation { source: self.source(pieces), named: Named::Word(code) });
        }
    }

    /// Adds a code whose parts are separated by spaces, such as "AB 1234" or "INV 2024 0042". The caller has checked
    /// all units but the first.
    fn spaced_code(&self, units: &[Unit], found: &mut Vec<Notation>) {
        let begins_well = units[0].is_spaced_part && (units[0].has_letters || units.len() == 2);
        let is_code = units.iter().any(|unit| unit.has_letters) && units.iter().any(|unit| unit.has_digits);
        if !begins_well || !is_code {
            return;
        }
        let pieces = units[0].pieces.start..units[units.len() - 1].pieces.end;
        if self.is_query || !self.continues_headline(pieces.start) {
            self.push_code(pieces, found);
        }
    }

    /// Whether a word in capitals precedes a piece. Then the letters of the piece belong to a headline, not to a code.
    fn continues_headline(&self, at: usize) -> bool {
        let is_capital = |word: &str| word.chars().nth(1).is_some() && word.chars().all(char::is_uppercase);
        at > 0 && self.gap_before(at) == " " && is_capital(self.piece(at - 1))
    }

    fn emoji(&self, found: &mut Vec<Notation>) {
        let mut characters = self.text.chars().peekable();
        while let Some(c) = characters.next() {
            if !is_emoji(c) || is_skin_tone(c) {
                continue;
            }
            let mut emoji = String::from(c);
            if is_regional(c) {
                emoji.extend(characters.next_if(|next| is_regional(*next)));
            }
            while let Some(tag) = characters.next_if(|next| matches!(next, '\u{E0020}'..='\u{E007F}')) {
                emoji.push(tag);
            }
            found.push(Notation { source: emoji.clone(), named: Named::Emoji(emoji) });
        }
    }
}

/// Makes a time of day; `None` if the numbers are not those of a time. `half` is true after noon, false before noon,
/// and `None` if the text does not say.
fn time_of(hour: &str, minute: &str, half: Option<bool>) -> Option<TimeOfDay> {
    let (digits, hour, minute) = (hour.len(), hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    if minute > 59 || hour > 24 || (hour == 24 && minute > 0) {
        return None;
    }
    let is_either_half = half.is_none() && (1..12).contains(&hour) && (digits == 1 || hour > 9);
    let hour = match half {
        Some(is_afternoon) if (1..=12).contains(&hour) => hour % 12 + if is_afternoon { 12 } else { 0 },
        Some(true) if (13..24).contains(&hour) => hour,
        Some(_) => return None,
        None => hour % 24,
    };
    Some(TimeOfDay { hour, minute, is_either_half })
}

/// Writes a number with separators as digits with a decimal point: `1234.50` for "1,234.50", "1.234,50" and "1'234.50",
/// `123456` for "1,23,456". "1,234" and "1.234" both become `1.234`, because both may mean either number. `None` for
/// plain digits, and for text that is no number, such as versions and dates.
fn canonical_number(text: &str) -> Option<String> {
    let separators: Vec<char> = text.chars().filter(|c| !c.is_ascii_digit()).collect();
    let groups: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).collect();
    if text.len() > CHARACTERS_MAX * 2 || groups.iter().any(|group| group.is_empty()) {
        return None;
    }
    let (first, last) = (separators.first()?, separators.last()?);
    if !separators.iter().all(|c| matches!(c, '.' | ',' | '\'')) {
        return None;
    }
    let integer = |groups: &[&str]| -> Option<String> {
        let are_thousands = groups[1..].iter().all(|group| group.len() == 3);
        let (middle, end) = groups[1..].split_at(groups.len() - 2);
        let are_lakhs = *first == ',' && middle.iter().all(|group| group.len() == 2) && end[0].len() == 3;
        let is_led = (1..=3).contains(&groups[0].len()) && !groups[0].starts_with('0');
        (is_led && (are_thousands || (are_lakhs && groups[0].len() <= 2))).then(|| groups.concat())
    };
    if separators.len() == 1 {
        let is_decimal = groups[1].len() != 3 || groups[0].len() > 3 || groups[0].starts_with('0');
        return match first {
            '\'' if is_decimal => None,
            '\'' => Some(groups.concat()),
            _ => Some(groups.join(".")),
        };
    }
    if separators.iter().all(|separator| separator == first) {
        return integer(&groups);
    }
    let is_decimal = *last != '\'' && separators[..separators.len() - 1].iter().all(|c| c == first && c != last);
    let (decimals, whole) = groups.split_last()?;
    if is_decimal { integer(whole).map(|whole| format!("{whole}.{decimals}")) } else { None }
}

/// The terms of all documents that may contain the number that `word` is; none if it is no number.
pub(crate) fn readings_of_number(word: &str) -> Vec<String> {
    if !word.starts_with(|c: char| c.is_ascii_digit()) || word.len() > CHARACTERS_MAX {
        return Vec::new();
    }
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_plain { Some(word.to_owned()) } else { canonical_number(word) };
    number.map(|number| number_readings(&number)).unwrap_or_default()
}

/// The terms of all documents that may contain a number, which is given as plain digits or by `canonical_number`.
fn number_readings(number: &str) -> Vec<String> {
    let grouped = |integer: &str| {
        let is_grouped = (4..=6).contains(&integer.len()) && !integer.starts_with('0');
        is_grouped.then(|| {
            let (thousands, rest) = integer.split_at(integer.len() - 3);
            format!("{thousands}.{rest}")
        })
    };
    let mut readings = vec![number.to_owned()];
    let Some((integer, decimals)) = number.split_once('.') else {
        readings.extend(grouped(number));
        if number.len() >= PADDED_DIGITS_MIN {
            readings.push(format!("{number}.00"));
        }
        return readings;
    };
    let is_padded = integer.len() >= PADDED_DIGITS_MIN;
    match decimals.len() {
        3 if integer.len() <= 3 && !integer.starts_with('0') => readings.push(format!("{integer}{decimals}")),
        1 if is_padded => readings.push(format!("{number}0")),
        2 if is_padded && decimals.ends_with('0') => readings.push(number[..number.len() - 1].to_owned()),
        _ => {}
    }
    if is_padded && matches!(decimals, "0" | "00") {
        readings.push(integer.to_owned());
        readings.extend(grouped(integer));
    }
    readings
}

/// Splits a word that consists of letters and then digits, or of digits and then letters.
pub(crate) fn parts_of_code(word: &str) -> Option<(&str, &str)> {
    let starts_with_digit = word.starts_with(|c: char| c.is_ascii_digit());
    let at = word.find(|c: char| c.is_ascii_digit() != starts_with_digit)?;
    let (first, second) = word.split_at(at);
    let are_alike = second.chars().all(|c| c.is_alphanumeric() && c.is_ascii_digit() != starts_with_digit);
    (are_alike && first.chars().all(char::is_alphanumeric)).then_some((first, second))
}

/// Whether a character is an emoji or a part of one. Excludes squares and circles, which begin items of lists.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{231A}'..='\u{23FF}'
        | '\u{25B6}' | '\u{25C0}'
        | '\u{2600}'..='\u{27BF}'
        | '\u{2B05}'..='\u{2B07}' | '\u{2B1B}' | '\u{2B1C}' | '\u{2B50}' | '\u{2B55}'
        | '\u{1F000}'..='\u{1FAFF}')
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}
