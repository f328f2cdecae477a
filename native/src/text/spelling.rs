//! Spelling correction: for a word that no chunk contains, finds the known terms with the smallest Damerau-Levenshtein
//! distance. `weighted_query` decides which words are corrected and how much a correction counts.

use std::collections::BTreeMap;

use tantivy::Term;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;
use tantivy_fst::Automaton;

use crate::error::{Error, Result};
use crate::text::document_frequencies::own_document_frequency;
use crate::text::snapshot::{Segment, Snapshot};

/// Minimum number of characters of a corrected term. Shorter terms have dozens of similar terms, and most of these are
/// other words. Bigrams of Chinese, Japanese and Korean text are shorter, so they are not corrected, either.
const CHARACTERS_MIN: usize = 4;
/// Minimum number of characters for two edits, which are tried if one edit finds nothing.
const CHARACTERS_MIN_FOR_TWO_EDITS: usize = 8;
/// Maximum number of characters of a corrected term. Longer terms are not mistyped words, and the automaton that
/// searches for similar terms takes a kilobyte of memory for each state.
const CHARACTERS_MAX: usize = 24;
/// Maximum number of corrections of one word. On the benchmark SciFact, nDCG@10 differs by at most 0.001 between 1, 2,
/// 3 and 5 corrections (docs/measurements.md, "Misspelt words").
const CORRECTIONS_MAX: usize = 3;

/// The attempts to find corrections, in the order in which they are made. The first attempt that finds a term is the
/// last. An edit is an insertion, deletion or substitution of a character, or a swap of two adjacent characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// One edit, but not in the first character, because the first character is rarely mistyped.
    OneEdit,
    /// One edit in the first character.
    OtherFirstCharacter,
    /// Two edits, none in the first character.
    TwoEdits,
}

/// Whether `corrections` would search for terms similar to a word with these stems.
pub(crate) fn is_correctable(stems: &[String]) -> bool {
    stems.iter().any(|stem| edits_max(stem) > 0)
}

/// The corrections of an unknown word with these stems. Among the terms that the first successful `Attempt` finds,
/// these are the `CORRECTIONS_MAX` terms that most chunks contain.
pub(crate) fn corrections(snapshot: &Snapshot, stems: &[String]) -> Result<Vec<String>> {
    for attempt in [Attempt::OneEdit, Attempt::OtherFirstCharacter, Attempt::TwoEdits] {
        let mut found = TermFrequencies::new();
        let with_edits = |edits: u8| -> Vec<&str> {
            stems.iter().map(String::as_str).filter(|stem| edits_max(stem) >= edits).collect()
        };
        match attempt {
            Attempt::OneEdit => find_with_same_first_character(snapshot, &with_edits(1), 1, &mut found)?,
            Attempt::OtherFirstCharacter => {
                for stem in with_edits(1) {
                    find_with_other_first_character(snapshot, stem, &mut found)?;
                }
            }
            Attempt::TwoEdits => find_with_same_first_character(snapshot, &with_edits(2), 2, &mut found)?,
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

/// Maximum number of edits that are tried for a term. It is 0 for terms with digits, because numbers and codes are
/// meant literally.
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

/// Maximum number of terms whose automata are compared with a dictionary at the same time. Words have up to five
/// different stems, most of them two or three.
const TERMS_AT_ONCE: usize = 4;

/// Accepts what any of its automata accepts. Paths through a dictionary that resemble several similar terms are then
/// followed once, instead of once per term.
struct AnyOf<One>(Vec<One>);

impl<One: Automaton<State = u32>> AnyOf<One> {
    /// Number of automata that accept the bytes.
    fn accepting(&self, bytes: &[u8]) -> usize {
        let accepts = |one: &&One| {
            let end = bytes.iter().fold(one.start(), |state, byte| one.accept(&state, *byte));
            one.is_match(&end)
        };
        self.0.iter().filter(accepts).count()
    }
}

impl<One: Automaton<State = u32>> Automaton for AnyOf<One> {
    /// State of each automaton.
    type State = [u32; TERMS_AT_ONCE];

    fn start(&self) -> Self::State {
        std::array::from_fn(|at| self.0.get(at).map_or(0, One::start))
    }

    fn is_match(&self, state: &Self::State) -> bool {
        self.0.iter().zip(state).any(|(one, state)| one.is_match(state))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        self.0.iter().zip(state).any(|(one, state)| one.can_match(state))
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        std::array::from_fn(|at| self.0.get(at).map_or(0, |one| one.accept(&state[at], byte)))
    }
}

/// Adds the known terms that are at most `edits` edits away from one of the terms and begin with the same character to
/// `found`. A known term that is near several of them counts once for each. Only the dictionaries of search texts are
/// searched. Context texts contain no other terms, because they repeat the search texts of neighbours in the same
/// memory.
fn find_with_same_first_character(
    snapshot: &Snapshot,
    terms: &[&str],
    edits: u8,
    found: &mut TermFrequencies,
) -> Result<()> {
    // The stems of a word are sorted, so that those with the same first character follow each other.
    let groups = terms.chunk_by(|a, b| split_first_character(a).0 == split_first_character(b).0);
    for terms in groups.flat_map(|same_first| same_first.chunks(TERMS_AT_ONCE)) {
        // The automaton does not depend on the field, so any field can be passed.
        let automaton = |term: &&str| {
            FuzzyTermQuery::new(Term::from_field_text(Field::from_field_id(0), term), edits, true).automaton()
        };
        let automata = AnyOf(terms.iter().map(automaton).collect::<tantivy::Result<Vec<_>>>()?);
        let (first, _) = split_first_character(terms[0]);
        // The exclusive end of the range of terms with this first character: its bytes, with the last one increased by
        // one. Terms with a greater first character are sorted at or after this end.
        let mut end = first.as_bytes().to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        for segment in &snapshot.segments {
            let matches = segment.columns.own.terms().search(&automata).ge(first).lt(&end);
            let mut stream = matches.into_stream().map_err(read_error)?;
            while stream.advance() {
                if let Ok(known) = std::str::from_utf8(stream.key())
                    && !has_digit(known)
                {
                    add_term(segment, known, stream.value(), automata.accepting(stream.key()), found)?;
                }
            }
        }
    }
    Ok(())
}

/// Adds the known terms that are one edit away from a term and begin with another character to `found`. Tries only
/// first letters of the same alphabet, which takes a few hundred look-ups. An automaton would have to try every first
/// character of the dictionary.
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
                add_term(segment, known, &info, 1, found)?;
            }
        }
    }
    Ok(())
}

/// The lower-case letters of a character's alphabet, fewer than 200. For a Latin letter these are the Latin letters,
/// including accented ones. Otherwise they are the letters in the character's block of 128 code points, because the
/// letters of an alphabet have consecutive code points in Unicode.
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

/// Adds the document frequency of a term in a segment to `found`, as many times as given, unless it is 0.
fn add_term(segment: &Segment, term: &str, info: &TermInfo, times: usize, found: &mut TermFrequencies) -> Result<()> {
    let document_frequency = own_document_frequency(segment, std::slice::from_ref(info))?;
    if document_frequency > 0 {
        *found.entry(term.to_owned()).or_default() += document_frequency * times as u64;
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
    fn automata_of_several_terms_accept_what_any_of_them_accepts_and_count_those_that_do() {
        let of = |terms: &[&str], edits: u8| {
            let term = |term: &&str| Term::from_field_text(Field::from_field_id(0), term);
            let automaton = |near: &&str| FuzzyTermQuery::new(term(near), edits, true).automaton().expect("automaton");
            AnyOf(terms.iter().map(automaton).collect())
        };
        let near = ["kitten", "kittel", "mitten", "bitte"];
        let all = ["kitten", "kittens", "kittel", "kitte", "mitten", "bitten", "bitte", "sitting", "kit", ""];
        for edits in [1, 2] {
            for count in 1..=near.len() {
                let automata = of(&near[..count], edits);
                for known in all {
                    let bytes = known.as_bytes();
                    let one_by_one = near[..count].iter().filter(|term| of(&[**term], edits).accepting(bytes) == 1);
                    let expected = one_by_one.count();
                    assert_eq!(automata.accepting(bytes), expected, "{known} near {count} terms");
                    let walked = bytes.iter().try_fold(automata.start(), |state, byte| {
                        automata.can_match(&state).then(|| automata.accept(&state, *byte))
                    });
                    assert_eq!(walked.is_some_and(|end| automata.is_match(&end)), expected > 0, "{known}");
                }
            }
        }
        assert_eq!(of(&near, 1).accepting(b"kitten"), 3);
    }

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
