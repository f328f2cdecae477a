//! BM25 and spelling correction, computed directly from the terms of all documents, to compare the text index with.

use std::collections::{BTreeMap, BTreeSet};

/// The words of the query with their factors. Unknown words are replaced by their spelling corrections, or left out
/// if a correction is also a word of the query.
pub fn corrected(
    query_words: &[Vec<String>],
    own: &BTreeMap<u64, Vec<String>>,
    context: &BTreeMap<u64, Vec<String>>,
) -> Vec<(Vec<String>, f64)> {
    let is_known = |variants: &[String]| own.values().chain(context.values()).flatten().any(|t| variants.contains(t));
    let length = |term: &String| term.chars().count();
    let has_digit = |term: &String| term.chars().any(char::is_numeric);
    let mut corrections_left = 3;
    let correct = |variants: &Vec<String>| -> (Vec<String>, f64) {
        let stems: Vec<&String> =
            variants.iter().filter(|stem| !has_digit(stem) && (4..=24).contains(&length(stem))).collect();
        if is_known(variants) || stems.is_empty() || corrections_left == 0 {
            return (variants.clone(), 1.0);
        }
        corrections_left -= 1;
        let mut document_frequencies: BTreeMap<&String, usize> = BTreeMap::new();
        for terms in own.values() {
            let distinct: BTreeSet<&String> = terms.iter().filter(|term| !has_digit(term)).collect();
            distinct.into_iter().for_each(|term| *document_frequencies.entry(term).or_default() += 1);
        }
        for (edits, has_same_first) in [(1, true), (1, false), (2, true)] {
            let is_near = |term: &&String| {
                stems.iter().any(|stem| {
                    (edits < 2 || length(stem) >= 8)
                        && (!has_same_first || stem.chars().next() == term.chars().next())
                        && edit_distance(stem, term) <= edits
                })
            };
            let mut near: Vec<&String> = document_frequencies.keys().copied().filter(is_near).collect();
            near.sort_by_key(|term| std::cmp::Reverse(document_frequencies[term]));
            near.truncate(3);
            let near: Vec<String> = near.into_iter().cloned().collect();
            if near.iter().any(|term| query_words.iter().any(|variants| variants.contains(term))) {
                return (Vec::new(), 0.0);
            }
            if !near.is_empty() {
                return (near, 0.8);
            }
        }
        (variants.clone(), 1.0)
    };
    query_words.iter().map(correct).filter(|(variants, _)| !variants.is_empty()).collect()
}

/// Damerau-Levenshtein distance (insertions, deletions, substitutions, swaps of neighbours) by dynamic programming.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let changed = replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                let is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if is_swap { changed.min(table[i - 2][j - 2] + 1) } else { changed }
            };
        }
    }
    table[a.len()][b.len()]
}

/// The BM25 score of one field, divided by its largest possible value for the query and multiplied by the query's
/// breadth.
pub fn field_scores(documents: &BTreeMap<u64, Vec<String>>, words: &[(Vec<String>, f64)]) -> BTreeMap<u64, f64> {
    let (k1, b) = (0.9, 0.4);
    let count = documents.len() as f64;
    let mean = documents.values().map(|terms| terms.len() as f64).sum::<f64>() / count;
    let frequency = |terms: &[String], word: &[String]| terms.iter().filter(|term| word.contains(term)).count() as f64;
    let idf = |word: &Vec<String>| {
        let df = documents.values().filter(|terms| frequency(terms, word) > 0.0).count() as f64;
        if df > 0.0 { (1.0 + (count - df + 0.5) / (df + 0.5)).ln() } else { 0.0 }
    };
    let idfs: Vec<f64> = words.iter().map(|(word, _)| idf(word)).collect();
    let total = idfs.iter().sum::<f64>();
    let unknown = idfs.iter().filter(|idf| **idf == 0.0).count() as f64;
    let largest = (k1 + 1.0) * (total + unknown * (1.0 + (count + 0.5) / 0.5).ln());
    let breadth = (total / (20.0 * (1.0 + (count - 0.5) / 1.5).ln())).powf(0.3).min(1.0);
    let score = |terms: &[String]| {
        let word_score = |((word, factor), idf): (&(Vec<String>, f64), &f64)| {
            let tf = frequency(terms, word);
            factor * idf * tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * terms.len() as f64 / mean))
        };
        let sum: f64 = words.iter().zip(&idfs).map(word_score).sum();
        if largest > 0.0 { breadth * sum / largest } else { 0.0 }
    };
    documents.iter().map(|(key, terms)| (*key, score(terms))).collect()
}
