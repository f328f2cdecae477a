//! Parses the word lists of `data/words/entities`, which are compiled into the library. Lines that begin with `#` are
//! comments, a line `[name]` begins a section, and all other lines contain words separated by white space.

/// The words of all sections.
pub(super) fn all_words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with(['#', '['])).flat_map(str::split_ascii_whitespace)
}

/// The words of one section; none if there is no such section.
pub(super) fn section_words(list: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    let is_header = move |line: &str| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) == Some(name);
    list.lines()
        .skip_while(move |line| !is_header(line))
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .flat_map(str::split_ascii_whitespace)
}

/// The names of all sections.
#[cfg(test)]
pub(super) fn section_names(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# a comment\n\n[one]\na b\nc\n\n[two]\nd\n";

    #[test]
    fn each_section_has_only_its_own_words() {
        assert_eq!(section_words(LIST, "one").collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(section_words(LIST, "two").collect::<Vec<_>>(), ["d"]);
        assert_eq!(section_words(LIST, "on").count(), 0);
        assert_eq!(section_names(LIST).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(all_words(LIST).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }
}
