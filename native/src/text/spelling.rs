//! Which known terms may a word mean that no chunk contains? Those nearest by Damerau-Levenshtein distance.
//! Whether a word is unknown, and how much a guess counts, is `text::bm25`'s affair.

use std::collections::BTreeMap;

use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;

use crate::error::{Error, Result};
use crate::text::document_frequencies::own_documents;
use crate::text::view::{Segment, View};

/// Shorter terms have neighbours by the dozen, and most of them are other words. CJK bigrams are shorter, too.
const CHARACTERS_MIN: usize = 4;
/// From here on two slips are looked for, where one finds nothing.
const CHARACTERS_MIN_FOR_TWO: usize = 8;
/// Longer terms are no words that someone mistyped, and an automaton takes a kilobyte for each of its states.
const CHARACTERS_MAX: usize = 24;
/// How many terms a guess is made of. More change nothing: on SciFact 1, 2, 3 and 5 are within .001 nDCG@10.
const GUESSES_MAX: usize = 3;

/// Where terms are looked for, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// One slip, not in the first character: few get that wrong.
    OneSlip,
    /// One slip in the first character.
    WrongBeginning,
    /// Two slips, none in the first character.
    TwoSlips,
}

/// Whether `nearest` looks for anything for a word, given by the stems that it has.
pub(crate) fn is_correctable(stems: &[String]) -> bool {
    stems.iter().any(|stem| slips_max(stem) > 0)
}

/// The known terms that an unknown word, given by its stems, may stand for: the most frequent ones of the first `Step`
/// that finds any, at most `GUESSES_MAX`. A slip is an insertion, deletion or substitution of a character or a
/// swap of two neighbours.
pub(crate) fn nearest(view: &View, stems: &[String]) -> Result<Vec<String>> {
    for step in [Step::OneSlip, Step::WrongBeginning, Step::TwoSlips] {
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for stem in stems {
            match (step, slips_max(stem)) {
                (Step::OneSlip, 1..) => search(view, stem, 1, &mut found)?,
                (Step::WrongBeginning, 1..) => try_beginnings(view, stem, &mut found)?,
                (Step::TwoSlips, 2..) => search(view, stem, 2, &mut found)?,
                _ => {}
            }
        }
        if !found.is_empty() {
            let mut ranked: Vec<(String, u64)> = found.into_iter().collect();
            // Stable, so that equally frequent terms stay in the order of the alphabet.
            ranked.sort_by_key(|(_, uses)| std::cmp::Reverse(*uses));
            ranked.truncate(GUESSES_MAX);
            return Ok(ranked.into_iter().map(|(term, _)| term).collect());
        }
    }
    Ok(Vec::new())
}

/// How many slips are looked for in a term. Numbers and codes mean exactly what they say.
fn slips_max(term: &str) -> u8 {
    if has_digit(term) {
        return 0;
    }
    match term.chars().count() {
        CHARACTERS_MIN_FOR_TWO..=CHARACTERS_MAX => 2,
        CHARACTERS_MIN..CHARACTERS_MIN_FOR_TWO => 1,
        _ => 0,
    }
}

fn has_digit(term: &str) -> bool {
    term.chars().any(char::is_numeric)
}

/// Adds the terms within that many slips that begin with the same character. The dictionaries of the chunks' own words
/// are enough: a context repeats the own words of its neighbours, which are published with it.
fn search(view: &View, term: &str, slips: u8, found: &mut BTreeMap<String, u64>) -> Result<()> {
    // The automaton knows of no field; any will do.
    let automaton =
        FuzzyTermQuery::new(Term::from_field_text(Field::from_field_id(0), term), slips, true).automaton()?;
    let (first, _) = beginning(term);
    // Just beyond everything that begins with it: its last byte one higher, which lies before any other character.
    let mut beyond = first.as_bytes().to_vec();
    if let Some(last) = beyond.last_mut() {
        *last += 1;
    }
    for segment in &view.segments {
        let within = segment.columns.own.terms().search(&automaton).ge(first).lt(&beyond);
        let mut terms = within.into_stream().map_err(read_error)?;
        while terms.advance() {
            if let Ok(known) = std::str::from_utf8(terms.key())
                && !has_digit(known)
            {
                add(segment, known, terms.value(), found)?;
            }
        }
    }
    Ok(())
}

/// Adds the terms one slip away that begin with another character, which is looked for among `letters_beside` only: a
/// few hundred look-ups, where an automaton would have to follow every beginning that there is.
fn try_beginnings(view: &View, term: &str, found: &mut BTreeMap<String, u64>) -> Result<()> {
    let (first, rest) = beginning(term);
    let (second, tail) = beginning(rest);
    let mut near = vec![rest.to_owned(), format!("{second}{first}{tail}")];
    for letter in first.chars().flat_map(letters_beside) {
        near.push(format!("{letter}{rest}"));
        near.push(format!("{letter}{term}"));
    }
    for segment in &view.segments {
        let terms = segment.columns.own.terms();
        for known in near.iter().filter(|known| !known.starts_with(first)) {
            if let Some(info) = terms.get(known).map_err(read_error)? {
                add(segment, known, &info, found)?;
            }
        }
    }
    Ok(())
}

/// The small letters of a character's alphabet: Latin with its accents, otherwise those of its part of Unicode, which
/// gives each alphabet a run of code points. Fewer than 200.
fn letters_beside(character: char) -> impl Iterator<Item = char> {
    let part = u32::from(character) / 128 * 128;
    let (basic, other) = match character {
        '\0'..='\u{17f}' => ('a'..='z', 0xdf..0x180),
        _ => ('b'..='a', part..part + 128),
    };
    let letters = basic.chain(other.filter_map(char::from_u32));
    letters.filter(|letter| letter.is_alphabetic() && !letter.is_uppercase())
}

/// A term's first character, and what follows.
fn beginning(term: &str) -> (&str, &str) {
    term.split_at(term.chars().next().map_or(0, char::len_utf8))
}

/// Counts the live chunks of a segment that a term stands in.
fn add(segment: &Segment, term: &str, info: &TermInfo, found: &mut BTreeMap<String, u64>) -> Result<()> {
    let uses = own_documents(segment, std::slice::from_ref(info))?;
    if uses > 0 {
        *found.entry(term.to_owned()).or_default() += uses;
    }
    Ok(())
}

fn read_error(cause: std::io::Error) -> Error {
    Error::from_io("reading the text index", &cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_a_length_at_which_slips_can_be_told_are_looked_for() {
        let slips = |term: &str| slips_max(term);
        assert_eq!(["abc", "abcd", "abcdefg", "abcdefgh"].map(slips), [0, 1, 1, 2]);
        assert_eq!([&"x".repeat(24), &"x".repeat(25), &"ä".repeat(64)].map(|term| slips(term)), [2, 0, 0]);
        assert_eq!(["лощад", "機械", "데이", "covid19", "il6receptor", "abcⅷ"].map(slips), [1, 0, 0, 0, 0, 0]);
        assert!(!is_correctable(&["a1b2c3".to_owned(), "the".to_owned()]));
        assert!(is_correctable(&["the".to_owned(), "there".to_owned()]));
        assert!(!is_correctable(&[]));
    }

    #[test]
    fn other_beginnings_are_letters_of_the_same_alphabet() {
        let beside = |character| letters_beside(character).collect::<String>();
        for (characters, expected) in [("eéł", "azéßœ"), ("бя", "аяё"), ("βω", "ας")] {
            for character in characters.chars() {
                let letters = beside(character);
                assert!(expected.chars().all(|letter| letters.contains(letter)), "{character}: {letters}");
                assert!(!letters.contains(['A', 'É', 'Я', '1', ' ']), "{character}: {letters}");
            }
        }
        assert!(('\0'..=char::MAX).step_by(97).all(|character| letters_beside(character).count() < 200));
    }
}
