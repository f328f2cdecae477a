//! Which known terms may a word mean that no chunk contains? Those nearest by Damerau-Levenshtein distance.
//! Whether a word is unknown, and how much a guess counts, is `bm25`'s affair.

use std::collections::BTreeMap;

use tantivy::Term;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;

use crate::document_frequencies::own_documents;
use crate::error::{Error, Result};
use crate::text_view::View;

/// Shorter terms have neighbours by the dozen, and most of them are other words. CJK bigrams are shorter, too.
const CHARACTERS_MIN: usize = 4;
/// From here on two slips are looked for, where one finds nothing.
const CHARACTERS_MIN_FOR_TWO: usize = 8;
/// Longer terms are no words that someone mistyped, and an automaton takes a kilobyte for each of its states.
const CHARACTERS_MAX: usize = 24;
/// How many terms a guess is made of. More change nothing: on SciFact 1, 2, 3 and 5 are within .001 nDCG@10.
const GUESSES_MAX: usize = 3;

/// Where terms are looked for, best first: slips, and whether only those with the same first character, which few get
/// wrong, are. A step costs a search of each segment's dictionary; the first is the cheapest by far.
const STEPS: [(u8, bool); 3] = [(1, true), (1, false), (2, true)];

/// Whether `nearest` looks for anything for a word, given by the stems that it has.
pub(crate) fn is_correctable(stems: &[String]) -> bool {
    stems.iter().any(|stem| slips_max(stem) > 0)
}

/// The known terms that an unknown word, given by its stems, may stand for: the most frequent ones of the first of
/// `STEPS` that finds any, at most `GUESSES_MAX`. A slip is an insertion, deletion or substitution of a character or a
/// swap of two neighbours.
pub(crate) fn nearest(view: &View, stems: &[String]) -> Result<Vec<String>> {
    for (slips, begins_alike) in STEPS {
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for stem in stems.iter().filter(|stem| slips_max(stem) >= slips) {
            search(view, stem, slips, begins_alike, &mut found)?;
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

/// Adds the terms within that many slips, and in how many live chunks they stand. The dictionaries of the chunks' own words
/// are enough: a context repeats the own words of its neighbours, which are published with it.
fn search(view: &View, term: &str, slips: u8, begins_alike: bool, found: &mut BTreeMap<String, u64>) -> Result<()> {
    // The automaton knows of no field; any will do.
    let automaton =
        FuzzyTermQuery::new(Term::from_field_text(Field::from_field_id(0), term), slips, true).automaton()?;
    let first = term.chars().next().map_or("", |c| &term[..c.len_utf8()]);
    // Just beyond everything that begins with it: its last byte one higher, which lies before any other character.
    let mut beyond = first.as_bytes().to_vec();
    if let Some(last) = beyond.last_mut() {
        *last += 1;
    }
    for segment in &view.segments {
        let mut within = segment.columns.own.terms().search(&automaton);
        if begins_alike {
            within = within.ge(first).lt(&beyond);
        }
        let mut terms = within.into_stream().map_err(|cause| Error::from_io("reading the text index", &cause))?;
        while terms.advance() {
            if let Ok(known) = std::str::from_utf8(terms.key())
                && !has_digit(known)
            {
                let uses = own_documents(segment, std::slice::from_ref(terms.value()))?;
                if uses > 0 {
                    *found.entry(known.to_owned()).or_default() += uses;
                }
            }
        }
    }
    Ok(())
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
}
