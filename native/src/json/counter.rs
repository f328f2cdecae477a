//! Counts depth, values and members of a JSON text in bytes that arrive in pieces. It does not check the grammar: of a
//! text that is not valid JSON, the counts are an estimate.

use memchr::memchr2;

/// Limits of a JSON text.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum nesting depth of objects and arrays.
    pub depth: u32,
    /// Maximum number of values, containers included.
    pub values: u32,
    /// Maximum number of values of a part.
    pub part_values: u32,
    /// Maximum number of members of all objects of a part.
    pub part_members: u32,
    /// If true, each item of an array in the outermost object is a part, such as each memory of a batch. If false, the
    /// whole text is the only part.
    pub are_items_parts: bool,
}

/// The limit that a text exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    Depth,
    Values,
    PartValues,
    PartMembers,
}

/// Counts of a JSON text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Greatest nesting depth so far.
    pub depth_max: u32,
    /// Number of values, containers included. Names of members are not values.
    pub values: u32,
    /// Number of members of all objects.
    pub members: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    /// Inside a number, `true`, `false` or `null`.
    Scalar,
    Text,
    /// After a backslash in a text.
    Escape,
}

/// Counts a text piece by piece.
pub struct Counter {
    limits: Limits,
    state: State,
    depth: u32,
    counts: Counts,
    /// `counts` at the beginning of the current part.
    part: Counts,
    /// Whether the container at depth 2 is an array.
    is_array_at_2: bool,
}

impl Counter {
    pub fn new(limits: Limits) -> Counter {
        Counter {
            limits,
            state: State::Between,
            depth: 0,
            counts: Counts::default(),
            part: Counts::default(),
            is_array_at_2: false,
        }
    }

    /// The counts of all bytes so far.
    #[cfg(test)]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts the next piece. Stops at the first limit that is exceeded.
    pub fn add(&mut self, piece: &[u8]) -> Result<(), Exceeded> {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            match self.state {
                State::Text => match memchr2(b'"', b'\\', &piece[at..]) {
                    None => break,
                    Some(length) => {
                        at += length;
                        self.state = if piece[at] == b'"' { State::Between } else { State::Escape };
                    }
                },
                State::Escape => self.state = State::Text,
                State::Between | State::Scalar => self.step(byte)?,
            }
            at += 1;
        }
        self.check(1) // the last text may be a name whose colon has not arrived
    }

    fn step(&mut self, byte: u8) -> Result<(), Exceeded> {
        let before = self.state;
        self.state = State::Between;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => Ok(()),
            b'"' => {
                self.counts.values += 1;
                self.state = State::Text;
                Ok(())
            }
            b'{' | b'[' => {
                self.counts.values += 1;
                self.depth += 1;
                self.counts.depth_max = self.counts.depth_max.max(self.depth);
                if self.depth == 2 {
                    self.is_array_at_2 = byte == b'[';
                    self.begin_part();
                }
                if self.depth > self.limits.depth { Err(Exceeded::Depth) } else { Ok(()) }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                let checked = self.check(0);
                if self.depth == 1 {
                    self.begin_part();
                }
                checked
            }
            b':' => {
                self.counts.members += 1;
                self.counts.values = self.counts.values.saturating_sub(1);
                Ok(())
            }
            b',' => {
                let checked = self.check(0);
                if self.depth == 2 {
                    self.begin_part();
                }
                checked
            }
            _ => {
                if before != State::Scalar {
                    self.counts.values += 1;
                }
                self.state = State::Scalar;
                Ok(())
            }
        }
    }

    fn begin_part(&mut self) {
        if self.limits.are_items_parts && self.is_array_at_2 {
            self.part = self.counts;
        }
    }

    fn check(&self, names: u32) -> Result<(), Exceeded> {
        let Counts { values, members, .. } = self.counts;
        if values > self.limits.values.saturating_add(names) {
            return Err(Exceeded::Values);
        }
        if values.saturating_sub(self.part.values) > self.limits.part_values.saturating_add(names) {
            return Err(Exceeded::PartValues);
        }
        if members - self.part.members > self.limits.part_members {
            return Err(Exceeded::PartMembers);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIMITS: Limits =
        Limits { depth: 64, values: u32::MAX, part_values: u32::MAX, part_members: u32::MAX, are_items_parts: false };

    fn counted(text: &str) -> Counts {
        let mut counter = Counter::new(NO_LIMITS);
        counter.add(text.as_bytes()).expect("within the limits");
        counter.counts()
    }

    fn outcome(limits: Limits, text: &str) -> Result<(), Exceeded> {
        Counter::new(limits).add(text.as_bytes())
    }

    #[test]
    fn counts_values_members_and_depth() {
        let of = |depth_max, values, members| Counts { depth_max, values, members };
        assert_eq!(counted("1"), of(0, 1, 0));
        assert_eq!(counted("  -1.5e3  "), of(0, 1, 0));
        assert_eq!(counted("[]"), of(1, 1, 0));
        assert_eq!(counted(r#"{"a":1,"b":[true,null,"x"]}"#), of(2, 6, 2));
        assert_eq!(counted(r#"{"a":{},"a":{"b":""}}"#), of(2, 4, 3));
        assert_eq!(counted(r#""{[:,\"\\""#), of(0, 1, 0));
    }

    #[test]
    fn pieces_of_any_length_give_the_same_counts() {
        let text = r#" { "a\"{" : [ 12.5 , false , "\\" , { "é" : "\u005b[" } ] , "" : null } "#;
        let whole = counted(text);
        for length in 1..text.len() {
            let mut counter = Counter::new(NO_LIMITS);
            for piece in text.as_bytes().chunks(length) {
                counter.add(piece).expect("within the limits");
            }
            assert_eq!(counter.counts(), whole, "pieces of {length} bytes");
        }
    }

    #[test]
    fn each_limit_holds_at_its_edge_and_not_one_past_it() {
        let depth = Limits { depth: 3, ..NO_LIMITS };
        assert_eq!(outcome(depth, "[[[]]]"), Ok(()));
        assert_eq!(outcome(depth, "[[[["), Err(Exceeded::Depth));
        let values = Limits { values: 4, ..NO_LIMITS };
        assert_eq!(outcome(values, r#"{"a":1,"b":[2]}"#), Ok(()));
        assert_eq!(outcome(values, r#"{"a":1,"b":[2,3]}"#), Err(Exceeded::Values));
        let members = Limits { part_members: 2, ..NO_LIMITS };
        assert_eq!(outcome(members, r#"{"a":1,"b":[2,3]}"#), Ok(()));
        assert_eq!(outcome(members, r#"{"a":1,"b":{"c":0}}"#), Err(Exceeded::PartMembers));
    }

    #[test]
    fn the_items_of_an_array_in_the_outermost_object_are_counted_one_by_one() {
        let limits = Limits { part_values: 3, part_members: 2, are_items_parts: true, ..NO_LIMITS };
        assert_eq!(outcome(limits, r#"{"m":[{"a":1,"b":2},{"a":1,"b":2},{"a":1,"b":2}]}"#), Ok(()));
        assert_eq!(outcome(limits, r#"{"m":[{"a":1},{"a":1,"b":2,"c":3}]}"#), Err(Exceeded::PartValues));
        assert_eq!(outcome(limits, r#"{"m":[{"a":{"b":{"c":{}}}}]}"#), Err(Exceeded::PartValues));
        let members = Limits { part_values: 9, ..limits };
        assert_eq!(outcome(members, r#"{"m":[{"a":1},{"a":1,"b":2,"c":3}]}"#), Err(Exceeded::PartMembers));
        assert_eq!(outcome(members, r#"{"m":{"a":1,"b":2}}"#), Err(Exceeded::PartMembers));
    }
}
