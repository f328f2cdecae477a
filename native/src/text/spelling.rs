//! Spelling correction: the known terms nearest to a word that no chunk contains, by Damerau-Levenshtein distance.
//! `weighted_query` decides which words are corrected and how much a correction counts.

use std::collections::BTreeMap;

use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;

use crate::error::{Error, Result};
use crate::text::document_frequencies::own_document_frequency;
use crate::text::snapshot::{Segment, Snapshot};

/// Shorter terms are not corrected. They have dozens of neighbours, and most of those are other words. CJK bigrams are
/// shorter, too.
const CHARACTERS_MIN: usize = 4;
/// From this length on, two edits are tried if one finds nothing.
const CHARACTERS_MIN_FOR_TWO_EDITS: usize = 8;
/// Longer terms are not corrected: they are not mistyped words, and the automaton takes a kilobyte for each state.
const CHARACTERS_MAX: usize = 24;
/// Most corrections of one word. On SciFact, 1, 2, 3 and 5 are within .001 nDCG@10 (docs/measurements.md, "Misspelt
/// words").
const CORRECTIONS_MAX: usize = 3;

/// The attempts to find corrections, in order. The first that finds a term ends the search. An edit is an insertion,
/// deletion or substitution of a character, or a swap of two neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// One edit, not in the first character, because few people mistype that.
    OneEdit,
    /// One edit in the first character.
    OtherFirstCharacter,
    /// Two edits, none in the first character.
    TwoEdits,
}

/// Whether `corrections` searches at all for a word with these stems.
pub(crate) fn is_correctable(stems: &[String]) -> bool {
    stems.iter().any(|stem| edits_max(stem) > 0)
}

/// The known terms that an unknown word with these stems may mean: of the first `Attempt` that finds any, the
/// `CORRECTIONS_MAX` that most chunks contain.
pub(crate) fn corrections(snapshot: &Snapshot, stems: &[String]) -> Result<Vec<String>> {
    for attempt in [Attempt::OneEdit, Attempt::OtherFirstCharacter, Attempt::TwoEdits] {
        let mut found = TermFrequencies::new();
        for stem in stems {
            match (attempt, edits_max(stem)) {
                (Attempt::OneEdit, 1..) => find_with_same_first_character(snapshot, stem, 1, &mut found)?,
                (Attempt::OtherFirstCharacter, 1..) => find_with_other_first_character(snapshot, stem, &mut found)?,
                (Attempt::TwoEdits, 2..) => find_with_same_first_character(snapshot, stem, 2, &mut found)?,
                _ => {}
            }
        }
        if !found.is_empty() {
            let mut ranked: Vec<(String, u64)> = found.into_iter().collect();
            // The sort is stable, so terms of equal document frequency stay in alphabetical order.
            ranked.sort_by_key(|(_, document_frequency)| std::cmp::Reverse(*document_frequency));
            ranked.truncate(CORRECTIONS_MAX);
            return Ok(ranked.into_iter().map(|(term, _)| term).collect());
        }
    }
    Ok(Vec::new())
}

/// Terms with their document frequencies.
type TermFrequencies = BTreeMap<String, u64>;

/// Most edits that are tried for a term. Terms with digits are not corrected: numbers and codes are meant literally.
fn edits_max(term: &str) -> u8 {
    if has_digit(term) {
        return 0;
    }
    match term.chars().count() {
        CHARACTERS_MIN_FOR_TWO_EDITS..=CHARACTERS_MAX => 2,
        CHARACTERS_MIN..CHARACTERS_MIN_FOR_TWO_EDITS => 1,
        _ => 0,
    }
}

fn has_digit(term: &str) -> bool {
    term.chars().any(char::is_numeric)
}

/// Adds the known terms within `edits` of a term that begin with the same character. Only the dictionaries of the own
/// texts are searched: a context repeats the own texts of its neighbours, which are published in the same call.
fn find_with_same_first_character(
    snapshot: &Snapshot,
    term: &str,
    edits: u8,
    found: &mut TermFrequencies,
) -> Result<()> {
    // The automaton does not depend on the field, so any field will do.
    let automaton =
        FuzzyTermQuery::new(Term::from_field_text(Field::from_field_id(0), term), edits, true).automaton()?;
    let (first, _) = split_first_character(term);
    // An exclusive end of the terms with this first character: its last byte plus one. No later
    // character sorts before it.
    let mut end = first.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    for segment in &snapshot.segments {
        let matches = segment.columns.own.terms().search(&automaton).ge(first).lt(&end);
        let mut terms = matches.into_stream().map_err(read_error)?;
        while terms.advance() {
            if let Ok(known) = std::str::from_utf8(terms.key())
                && !has_digit(known)
            {
                add_term(segment, known, terms.value(), found)?;
            }
        }
    }
    Ok(())
}

/// Adds the known terms one edit away that begin with another character. Tries the letters of the same alphabet only:
/// a few hundred look-ups, whereas an automaton would have to follow every first character of the dictionary.
fn find_with_other_first_character(snapshot: &Snapshot, term: &str, found: &mut TermFrequencies) -> Result<()> {
    let (first, rest) = split_first_character(term);
    let (second, tail) = split_first_character(rest);
    let mut near = vec![rest.to_owned(), format!("{second}{first}{tail}")];
    for letter in first.chars().flat_map(alphabet_of) {
        near.push(format!("{letter}{rest}"));
        near.push(format!("{letter}{term}"));
    }
    for segment in &snapshot.segments {
        let terms = segment.columns.own.terms();
        for known in near.iter().filter(|known| !known.starts_with(first)) {
            if let Some(info) = terms.get(known).map_err(read_error)? {
                add_term(segment, known, &info, found)?;
            }
        }
    }
    Ok(())
}

/// The lower-case letters of a character's alphabet, fewer than 200: Latin with its accented letters, otherwise the
/// letters of the character's block of 128 code points, because Unicode stores each alphabet in one run.
fn alphabet_of(character: char) -> impl Iterator<Item = char> {
    let block = u32::from(character) / 128 * 128;
    let (basic, other) = match character {
        '\0'..='\u{17f}' => ('a'..='z', 0xdf..0x180),
        _ => ('b'..='a', block..block + 128),
    };
    let letters = basic.chain(other.filter_map(char::from_u32));
    letters.filter(|letter| letter.is_alphabetic() && !letter.is_uppercase())
}

/// Splits a term after its first character.
fn split_first_character(term: &str) -> (&str, &str) {
    term.split_at(term.chars().next().map_or(0, char::len_utf8))
}

/// Adds the document frequency of a term in a segment to `found`, unless it is 0.
fn add_term(segment: &Segment, term: &str, info: &TermInfo, found: &mut TermFrequencies) -> Result<()> {
    let document_frequency = own_document_frequency(segment, std::slice::from_ref(info))?;
    if document_frequency > 0 {
        *found.entry(term.to_owned()).or_default() += document_frequency;
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
    fn only_terms_of_4_to_24_letters_without_digits_are_corrected() {
        assert_eq!(["abc", "abcd", "abcdefg", "abcdefgh"].map(edits_max), [0, 1, 1, 2]);
        assert_eq!([&"x".repeat(24), &"x".repeat(25), &"ä".repeat(64)].map(|term| edits_max(term)), [2, 0, 0]);
        assert_eq!(["лощад", "機械", "데이", "covid19", "il6receptor", "abcⅷ"].map(edits_max), [1, 0, 0, 0, 0, 0]);
        assert!(!is_correctable(&["a1b2c3".to_owned(), "the".to_owned()]));
        assert!(is_correctable(&["the".to_owned(), "there".to_owned()]));
        assert!(!is_correctable(&[]));
    }

    #[test]
    fn replaced_first_characters_are_lower_case_letters_of_the_same_alphabet() {
        let alphabet = |character| alphabet_of(character).collect::<String>();
        for (characters, expected) in [("eéł", "azéßœ"), ("бя", "аяё"), ("βω", "ας")] {
            for character in characters.chars() {
                let letters = alphabet(character);
                assert!(expected.chars().all(|letter| letters.contains(letter)), "{character}: {letters}");
                assert!(!letters.contains(['A', 'É', 'Я', '1', ' ']), "{character}: {letters}");
            }
        }
        assert!(('\0'..=char::MAX).step_by(97).all(|character| alphabet_of(character).count() < 200));
    }
}
