//! Table of a project's memories. It decides which memories a search may return: they must be visible, not expired, of
//! the right user, and match the filter. Every search works inside the admissible set that this file makes; no search
//! filters its hits by attributes afterwards. `filters::attributes` and `filters::filter` evaluate filters; they use
//! the same ordinals.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::filters::attributes::AttributeIndex;
use crate::filters::filter::Filter;
use crate::filters::json::Json;
use crate::filters::memory_set::MemorySet;

/// User key of a memory without a user.
pub const NO_USER: u64 = 0;
/// Expiry time of a memory that never expires.
pub const NEVER: u64 = 0;
/// Maximum number of attribute changes that are remembered for running filters. It is enough for several rounds of
/// publishing.
const CHANGES_MAX: usize = 4_096;
/// Number of changed memories that a filter tests again under one lock. It is limited so that new changes need not wait
/// until all are tested.
const RETEST_BATCH: usize = 16;
/// Time limit of a filter. The most expensive filters with a few conditions take tens of milliseconds over 132,000
/// memories.
const FILTER_TIME_MAX: Duration = Duration::from_secs(5);
/// Number of memories whose attributes are set under one lock. With this number, other callers wait for at most half a
/// millisecond.
const DESCRIBE_BATCH: usize = 64;

/// Refuses the two reserved keys: 0 means "none", and `u64::MAX` is left for tables that mark free slots with it.
pub fn check_key(what: &str, key: u64) -> Result<()> {
    match key {
        0 | u64::MAX => Err(Error::invalid(format!("{what} {key} is reserved; keys are 1 to 2^64-2"))),
        _ => Ok(()),
    }
}

/// A memory that becomes visible to searches, with its user and expiry.
#[derive(Debug, Clone, Copy)]
pub struct VisibleMemory {
    /// Key of the memory.
    pub memory_key: u64,
    /// User key of the user that the memory belongs to, or `NO_USER`.
    pub user_key: u64,
    /// Time at which the memory expires, in ms since 1970, or `NEVER`.
    pub expires_at_ms: u64,
}

/// Admissible set: the memories that one request may see. It does not change after it was made.
/// `MemoryTable::still_visible` and `MemoryTable::retain_admitted` also exclude the memories that are hidden later.
#[derive(Debug, Clone)]
pub struct Admissible {
    set: MemorySet,
    user: Option<u64>,
    /// `MemoryTable::id` of the table that made the set.
    table_id: u64,
}

impl Admissible {
    /// Number of admitted memories.
    pub fn memories(&self) -> usize {
        self.set.len()
    }
}

/// In-memory table of a project's memories: ordinals, visibility and attributes. It maps memory keys to dense
/// ordinals. An ordinal is never reused while the project is open, because an `Admissible` may still contain it. Safe
/// for use by any thread.
///
/// There are two locks. `visibility` is locked only briefly, so that showing and hiding never wait for a filter. A
/// filter locks `attributes` for one condition at a time. No call holds both locks at the same time.
#[derive(Debug)]
pub struct MemoryTable {
    /// Unique number within the process. With it, a project recognises and refuses admissible sets of another project.
    id: u64,
    visibility: RwLock<Visibility>,
    attributes: RwLock<AttributeState>,
    /// Ordinals of hidden memories whose attributes are not yet removed, because a filter held the lock of
    /// `attributes`. They are removed before any attribute is read or written again. The list is emptied only under the
    /// write lock of `attributes`, so that attributes that are set later are not lost.
    pending_removals: Mutex<Vec<u32>>,
}

/// The known memories, and who may see them.
#[derive(Debug, Default)]
struct Visibility {
    ordinals: FxHashMap<u64, u32>,
    memory_keys: Vec<u64>,
    users: Vec<u64>,
    expiries: Vec<u64>,
    visible: MemorySet,
    /// Memories that were hidden, and neither shown nor described since.
    hidden: MemorySet,
    memories_of_user: FxHashMap<u64, RoaringBitmap>,
    /// (expiry time, ordinal) of the visible memories that expire, the soonest first.
    expiring: BTreeSet<(u64, u32)>,
}

/// The attributes of the memories, and the log of recent changes.
#[derive(Debug, Default)]
struct AttributeState {
    index: AttributeIndex,
    changes: ChangeLog,
}

/// The memories whose attributes changed recently.
#[derive(Debug, Default)]
struct ChangeLog {
    /// Number of changes since the project was opened.
    count: usize,
    /// Ordinals of the last `CHANGES_MAX` changes, newest first.
    ordinals: VecDeque<u32>,
}

impl ChangeLog {
    fn record(&mut self, ordinal: u32) {
        self.count += 1;
        self.ordinals.truncate(CHANGES_MAX - 1);
        self.ordinals.push_front(ordinal);
    }

    /// Returns the oldest `limit` of the changes that followed the first `count` changes. `None` if the log no longer
    /// contains all changes that followed the first `count`.
    fn oldest_since(&self, count: usize, limit: usize) -> Option<impl Iterator<Item = u32> + '_> {
        let changes = self.count - count;
        (changes <= self.ordinals.len()).then(|| self.ordinals.range(..changes).rev().take(limit).copied())
    }
}

impl Default for MemoryTable {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        MemoryTable {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            visibility: RwLock::default(),
            attributes: RwLock::default(),
            pending_removals: Mutex::default(),
        }
    }
}

impl MemoryTable {
    /// Makes memories searchable, or changes the user and expiry of searchable ones. Takes microseconds per memory.
    pub fn show(&self, visible_memories: &[VisibleMemory]) {
        let mut visibility = write(&self.visibility);
        for visible_memory in visible_memories {
            let ordinal = visibility.ordinal(visible_memory.memory_key);
            visibility.hide(ordinal);
            visibility.show(ordinal, visible_memory);
        }
    }

    /// Sets the attributes of memories, and replaces earlier ones. Both slices have the same length. A memory has its
    /// attributes until it is hidden. A memory that was shown without a call of `describe` has none. Takes microseconds
    /// per memory.
    pub fn describe(&self, memory_keys: &[u64], attributes: &[Json]) {
        self.describe_in_batches(memory_keys, attributes, |_| {});
    }

    /// Like `describe`, but does not sort the attributes, for loading many memories. `sort_attributes` sorts them, or
    /// the first filter before that. Sorting takes some microseconds per memory.
    pub fn describe_unsorted(&self, memory_keys: &[u64], attributes: &[Json]) {
        self.describe_in_batches(memory_keys, attributes, AttributeIndex::begin_unsorted);
    }

    /// Sorts what `describe_unsorted` has not sorted. Filters wait until it is done.
    pub fn sort_attributes(&self) {
        write(&self.attributes).index.sort();
    }

    fn describe_in_batches(&self, memory_keys: &[u64], attributes: &[Json], begin: impl Fn(&mut AttributeIndex)) {
        for (keys, attributes) in memory_keys.chunks(DESCRIBE_BATCH).zip(attributes.chunks(DESCRIBE_BATCH)) {
            let ordinals = self.ordinals(keys.iter().copied());
            {
                let mut visibility = write(&self.visibility);
                ordinals.iter().for_each(|ordinal| visibility.hidden.remove(*ordinal));
            }
            let mut state = write(&self.attributes);
            state.remove_pending(&self.pending_removals);
            begin(&mut state.index);
            for (ordinal, attributes) in ordinals.into_iter().zip(attributes) {
                state.index.describe(ordinal, attributes);
                state.changes.record(ordinal);
            }
        }
    }

    /// Makes memories unsearchable at once, also for searches with an older `Admissible`, and removes their attributes.
    /// Unknown keys are ignored.
    pub fn hide(&self, memory_keys: &[u64]) {
        let hidden: Vec<u32> = {
            let mut visibility = write(&self.visibility);
            let hidden: Vec<u32> = visibility.known_ordinals(memory_keys).flatten().collect();
            for ordinal in &hidden {
                visibility.hide(*ordinal);
                visibility.hidden.insert(*ordinal);
            }
            // This must happen under the lock of `visibility`, before another call can show these memories again.
            self.pending_removals.lock().unwrap_or_else(PoisonError::into_inner).extend(&hidden);
            hidden
        };
        if !hidden.is_empty()
            && let Ok(mut state) = self.attributes.try_write()
        {
            state.remove_pending(&self.pending_removals);
        }
    }

    /// Forgets which ordinals memories have, if they were hidden, and neither shown nor described since. A memory that
    /// is used again gets another ordinal. Call this when all indexes have removed the memories. Without it, each
    /// memory that was ever stored would take 40 bytes more.
    pub fn forget(&self, memory_keys: &[u64]) {
        let mut visibility = write(&self.visibility);
        for key in memory_keys {
            let ordinal = visibility.ordinals.get(key).copied();
            if let Some(ordinal) = ordinal.filter(|ordinal| visibility.hidden.contains(*ordinal)) {
                visibility.ordinals.remove(key);
                visibility.hidden.remove(ordinal);
            }
        }
    }

    /// Returns the visible memories that are not expired at `now_ms`, of one user, or of the whole project if `user` is
    /// `None`. The cost is copying one bit per memory (for one user: a visit of each of the user's memories), and a
    /// visit of each memory that is expired but not yet hidden.
    pub fn admit(&self, user: Option<u64>, now_ms: u64) -> Admissible {
        Admissible { set: read(&self.visibility).admitted(user, now_ms), user, table_id: self.id }
    }

    /// Like `admit`, but returns only memories that match a filter. Changes of attributes wait for one condition of the
    /// filter at most, which takes milliseconds at worst. Memories that change between two conditions are tested again,
    /// a few at a time. Fails with `TooDear` if the filter runs longer than `FILTER_TIME_MAX`.
    pub fn admit_within(&self, user: Option<u64>, now_ms: u64, filter: &Filter) -> Result<Admissible> {
        self.admit_before_deadline(user, now_ms, filter, FILTER_TIME_MAX)
    }

    fn admit_before_deadline(
        &self,
        user: Option<u64>,
        now_ms: u64,
        filter: &Filter,
        time_max: Duration,
    ) -> Result<Admissible> {
        let deadline = Instant::now() + time_max;
        // The filter starts again if more memories changed than the change log remembers.
        'restart: loop {
            let admitted = read(&self.visibility).admitted(user, now_ms);
            let mut changes_seen = self.current_attributes().changes.count;
            let mut is_late = false;
            let mut set = filter.select(&admitted, &mut |condition, within| {
                is_late |= Instant::now() > deadline;
                // After the deadline the call fails below, so the result does not matter.
                if is_late { MemorySet::default() } else { read(&self.attributes).index.select(condition, within) }
            });
            loop {
                if is_late || Instant::now() > deadline {
                    return Err(Error::TooDear(format!("it takes more than {} s", time_max.as_secs())));
                }
                let state = self.current_attributes();
                let Some(changed) = state.changes.oldest_since(changes_seen, RETEST_BATCH) else { continue 'restart };
                for ordinal in changed {
                    changes_seen += 1;
                    if !admitted.contains(ordinal) {
                        continue;
                    }
                    if filter.matches(&mut |condition| state.index.matches(condition, ordinal)) {
                        set.insert(ordinal);
                    } else {
                        set.remove(ordinal);
                    }
                }
                if changes_seen == state.changes.count {
                    return Ok(Admissible { set, user, table_id: self.id });
                }
            }
        }
    }

    /// Returns the memories of an admissible set that are still visible. Every search begins with this call. Fails with
    /// `Invalid` for a set of another project.
    pub fn still_visible(&self, within: &Admissible) -> Result<MemorySet> {
        if within.table_id != self.id {
            return Err(Error::invalid("the admissible set belongs to another project"));
        }
        Ok(read(&self.visibility).visible.intersection(&within.set))
    }

    /// Drops the hits whose memory was hidden or moved to another user during the search. Every search ends with this
    /// call.
    pub fn retain_admitted<Hit>(&self, within: &Admissible, hits: &mut Vec<Hit>, ordinal_of: impl Fn(&Hit) -> u32) {
        let visibility = read(&self.visibility);
        hits.retain(|hit| {
            let ordinal = ordinal_of(hit);
            let is_of_user = within.user.is_none_or(|user| visibility.users.get(ordinal as usize) == Some(&user));
            visibility.visible.contains(ordinal) && within.set.contains(ordinal) && is_of_user
        });
    }

    /// Returns the ordinal of a memory key. A new key gets a new ordinal.
    pub fn ordinal(&self, memory_key: u64) -> u32 {
        let known = read(&self.visibility).ordinals.get(&memory_key).copied();
        known.unwrap_or_else(|| write(&self.visibility).ordinal(memory_key))
    }

    /// Returns the ordinals of memory keys, in the order of the keys. New keys get new ordinals. The write lock is
    /// taken only if there are new keys.
    pub fn ordinals(&self, memory_keys: impl IntoIterator<Item = u64>) -> Vec<u32> {
        let memory_keys: Vec<u64> = memory_keys.into_iter().collect();
        let known: Option<Vec<u32>> = read(&self.visibility).known_ordinals(&memory_keys).collect();
        known.unwrap_or_else(|| {
            let mut visibility = write(&self.visibility);
            memory_keys.iter().map(|key| visibility.ordinal(*key)).collect()
        })
    }

    /// Returns the ordinals of memory keys, in the order of the keys; `None` for unknown keys.
    pub fn known_ordinals(&self, memory_keys: &[u64]) -> Vec<Option<u32>> {
        read(&self.visibility).known_ordinals(memory_keys).collect()
    }

    /// Returns the memory keys of ordinals, in the order of the ordinals. All ordinals must come from this table.
    pub fn memory_keys(&self, ordinals: impl IntoIterator<Item = u32>) -> Vec<u64> {
        let visibility = read(&self.visibility);
        ordinals.into_iter().map(|ordinal| visibility.memory_keys[ordinal as usize]).collect()
    }

    /// Number of memories that have an ordinal, including hidden ones.
    pub fn len(&self) -> usize {
        read(&self.visibility).memory_keys.len()
    }

    /// Locks the attributes for reading, after it has sorted them, and has removed those of memories that are hidden.
    fn current_attributes(&self) -> RwLockReadGuard<'_, AttributeState> {
        let has_pending = !self.pending_removals.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if has_pending {
            write(&self.attributes).remove_pending(&self.pending_removals);
        }
        loop {
            let state = read(&self.attributes);
            if state.index.is_sorted() {
                return state;
            }
            drop(state);
            self.sort_attributes();
        }
    }
}

// No change in this file can panic halfway, so data behind a poisoned lock is consistent.
fn read<Guarded>(lock: &RwLock<Guarded>) -> RwLockReadGuard<'_, Guarded> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<Guarded>(lock: &RwLock<Guarded>) -> RwLockWriteGuard<'_, Guarded> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl AttributeState {
    /// Removes the attributes of the listed memories and empties the list.
    fn remove_pending(&mut self, pending: &Mutex<Vec<u32>>) {
        let ordinals = std::mem::take(&mut *pending.lock().unwrap_or_else(PoisonError::into_inner));
        for ordinal in ordinals {
            self.index.forget(ordinal);
            self.changes.record(ordinal);
        }
    }
}

impl Visibility {
    fn ordinal(&mut self, memory_key: u64) -> u32 {
        if let Some(ordinal) = self.ordinals.get(&memory_key) {
            return *ordinal;
        }
        let ordinal = u32::try_from(self.memory_keys.len()).expect("a project has fewer than 2^32 memories");
        self.ordinals.insert(memory_key, ordinal);
        self.memory_keys.push(memory_key);
        self.users.push(NO_USER);
        self.expiries.push(NEVER);
        ordinal
    }

    fn admitted(&self, user: Option<u64>, now_ms: u64) -> MemorySet {
        let mut set = match user {
            None => self.visible.clone(),
            Some(user) => self.memories_of_user.get(&user).into_iter().flatten().collect(),
        };
        for (_, ordinal) in self.expiring.range(..=(now_ms, u32::MAX)) {
            set.remove(*ordinal);
        }
        set
    }

    fn known_ordinals<'keys>(&'keys self, memory_keys: &'keys [u64]) -> impl Iterator<Item = Option<u32>> + 'keys {
        memory_keys.iter().map(|key| self.ordinals.get(key).copied())
    }

    fn show(&mut self, ordinal: u32, visible_memory: &VisibleMemory) {
        self.visible.insert(ordinal);
        self.hidden.remove(ordinal);
        self.users[ordinal as usize] = visible_memory.user_key;
        self.expiries[ordinal as usize] = visible_memory.expires_at_ms;
        if visible_memory.user_key != NO_USER {
            self.memories_of_user.entry(visible_memory.user_key).or_default().insert(ordinal);
        }
        if visible_memory.expires_at_ms != NEVER {
            self.expiring.insert((visible_memory.expires_at_ms, ordinal));
        }
    }

    fn hide(&mut self, ordinal: u32) {
        self.visible.remove(ordinal);
        let user = self.users[ordinal as usize];
        if let Some(memories) = self.memories_of_user.get_mut(&user) {
            memories.remove(ordinal);
            if memories.is_empty() {
                self.memories_of_user.remove(&user);
            }
        }
        self.expiring.remove(&(self.expiries[ordinal as usize], ordinal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::Chance;
    use std::collections::BTreeMap;

    fn seen(memory_table: &MemoryTable, within: &Admissible) -> Vec<u64> {
        let set = memory_table.still_visible(within).expect("same index");
        let mut keys = memory_table.memory_keys(set.iter());
        keys.sort_unstable();
        keys
    }

    #[test]
    fn a_filter_sees_attributes_that_have_not_been_sorted_yet() {
        let memory_table = MemoryTable::default();
        let filter = Filter::parse(
            r#"{"kind":"field","field":{"attribute":"type"},"condition":{"kind":"equals","scalars":["note"],"composites":[]}}"#,
        )
        .expect("a filter");
        let json = |text| Json::parse(text).expect("JSON");
        let visible = |memory_key| VisibleMemory { memory_key, user_key: NO_USER, expires_at_ms: NEVER };
        memory_table.show(&[1, 2, 3].map(visible));
        memory_table.describe_unsorted(&[1, 2], &[const { r#"{"type":"note"}"# }, r#"{"type":"other"}"#].map(json));
        memory_table.hide(&[2]);
        let found = |memory_table: &MemoryTable| {
            seen(memory_table, &memory_table.admit_within(None, 1, &filter).expect("in time"))
        };
        assert_eq!(found(&memory_table), [1]);
        memory_table.describe_unsorted(&[3], &[const { r#"{"type":"note"}"# }].map(json));
        memory_table.sort_attributes();
        assert_eq!(found(&memory_table), [1, 3]);
    }

    #[test]
    fn admits_the_same_memories_as_a_plain_list() {
        let mut chance = Chance::new();
        let memory_table = MemoryTable::default();
        let mut model: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for step in 0..3_000 {
            let memory_key = 1 + chance.below(200) as u64;
            if chance.below(3) == 0 {
                memory_table.hide(&[memory_key]);
                model.remove(&memory_key);
            } else {
                let (user_key, expires_at_ms) = (chance.below(5) as u64, chance.below(50) as u64);
                memory_table.show(&[VisibleMemory { memory_key, user_key, expires_at_ms }]);
                model.insert(memory_key, (user_key, expires_at_ms));
            }
            if step % 10 == 0 {
                let now_ms = chance.below(60) as u64;
                let user = Some(1 + chance.below(4) as u64).filter(|_| chance.below(2) == 0);
                let expected: Vec<u64> = model
                    .iter()
                    .filter(|(_, (owner, _))| user.is_none_or(|user| user == *owner))
                    .filter(|(_, (_, expiry))| *expiry == NEVER || *expiry > now_ms)
                    .map(|(key, _)| *key)
                    .collect();
                let within = memory_table.admit(user, now_ms);
                assert_eq!(seen(&memory_table, &within), expected);
                assert_eq!(within.memories(), expected.len());
            }
        }
        assert_eq!(read(&memory_table.visibility).visible.len(), model.len());
    }

    #[test]
    fn a_forgotten_memory_gets_another_ordinal_and_stays_out_of_older_admissible_sets() {
        let memory_table = MemoryTable::default();
        let visible_memory = |memory_key| VisibleMemory { memory_key, user_key: 7, expires_at_ms: NEVER };
        memory_table.show(&[1, 2, 3, 4].map(visible_memory));
        let (within, old) = (memory_table.admit(Some(7), 0), memory_table.ordinals([1, 2, 3, 4]));
        memory_table.hide(&[1, 3, 4]);
        memory_table.show(&[visible_memory(3)]);
        memory_table.describe(&[4], &[json(r#"{"type":"note"}"#)]);
        memory_table.forget(&[1, 2, 3, 4, 5]);
        assert_eq!(
            memory_table.known_ordinals(&[1, 2, 3, 4, 5]),
            [None, Some(old[1]), Some(old[2]), Some(old[3]), None]
        );
        memory_table.show(&[visible_memory(1)]);
        let new = memory_table.ordinal(1);
        assert!(!old.contains(&new));
        assert_eq!(seen(&memory_table, &within), [2, 3]);
        assert_eq!(memory_table.memory_keys([old[0], new]), [1, 1]);
        assert_eq!(seen(&memory_table, &memory_table.admit(Some(7), 0)), [1, 2, 3]);
    }

    #[test]
    fn memories_that_come_and_go_leave_nothing_behind_by_key() {
        let memory_table = MemoryTable::default();
        for key in 1..=2_000 {
            memory_table.show(&[VisibleMemory { memory_key: key, user_key: key, expires_at_ms: key }]);
            memory_table.hide(&[key]);
            memory_table.forget(&[key]);
        }
        let visibility = read(&memory_table.visibility);
        assert!(
            visibility.ordinals.is_empty() && visibility.memories_of_user.is_empty() && visibility.expiring.is_empty()
        );
        assert!(visibility.hidden.is_empty() && visibility.visible.is_empty());
    }

    #[test]
    fn a_hidden_memory_disappears_from_older_admissible_sets() {
        let memory_table = MemoryTable::default();
        let visible_memory = |memory_key| VisibleMemory { memory_key, user_key: 7, expires_at_ms: NEVER };
        memory_table.show(&[visible_memory(1), visible_memory(2)]);
        let within = memory_table.admit(Some(7), 0);
        let mut hits = memory_table.ordinals([1, 2]);
        memory_table.hide(&[1]);
        assert_eq!(seen(&memory_table, &within), [2]);
        memory_table.retain_admitted(&within, &mut hits, |ordinal| *ordinal);
        assert_eq!(memory_table.memory_keys(hits), [2]);
    }

    fn of_type(name: &str) -> String {
        format!(
            r#"{{"kind":"field","field":{{"attribute":"type"}},
                "condition":{{"kind":"equals","scalars":["{name}"],"composites":[]}}}}"#
        )
    }

    fn json(text: &str) -> Json {
        Json::parse(text).expect("JSON")
    }

    #[test]
    fn no_filter_widens_the_admissible_set() {
        let memory_table = MemoryTable::default();
        memory_table.describe(&[1, 2, 3, 4, 5, 6], &[const { r#"{"type":"note"}"# }; 6].map(json));
        memory_table.show(&[
            VisibleMemory { memory_key: 1, user_key: 7, expires_at_ms: NEVER },
            VisibleMemory { memory_key: 2, user_key: 8, expires_at_ms: NEVER },
            VisibleMemory { memory_key: 3, user_key: 7, expires_at_ms: 10 },
            VisibleMemory { memory_key: 4, user_key: 7, expires_at_ms: NEVER },
            VisibleMemory { memory_key: 5, user_key: NO_USER, expires_at_ms: NEVER },
        ]);
        memory_table.hide(&[4]);
        let admitted = |user: Option<u64>, filter: &str| {
            let filter = Filter::parse(filter).expect("a filter");
            seen(&memory_table, &memory_table.admit_within(user, 10, &filter).expect("in time"))
        };
        let (note, mail) = (of_type("note"), of_type("mail"));
        let not_mail = format!(r#"{{"kind":"not","filter":{mail}}}"#);
        for filter in [&note, &not_mail, &format!(r#"{{"kind":"or","filters":[{mail},{note}]}}"#)] {
            assert_eq!(admitted(Some(7), filter), [1]);
            assert_eq!(admitted(None, filter), [1, 2, 5]);
            assert_eq!(admitted(Some(9), filter), [0; 0]);
        }
        assert_eq!(admitted(None, &mail), [0; 0]);
        memory_table.show(&[VisibleMemory { memory_key: 4, user_key: 7, expires_at_ms: NEVER }]);
        assert_eq!(admitted(Some(7), &note), [1], "a hidden memory loses its attributes");
    }

    #[test]
    fn a_memory_that_changes_while_a_filter_runs_is_tested_in_one_state() {
        let memory_table = MemoryTable::default();
        let (note, mail) = (of_type("note"), of_type("mail"));
        let either = Filter::parse(&format!(r#"{{"kind":"or","filters":[{note},{mail}]}}"#)).expect("a filter");
        let both = Filter::parse(&format!(r#"{{"kind":"and","filters":[{note},{mail}]}}"#)).expect("a filter");
        let types = [r#"{"type":"note"}"#, r#"{"type":"mail"}"#].map(json);
        memory_table.describe(&[1], &types[..1]);
        memory_table.show(&[VisibleMemory { memory_key: 1, user_key: NO_USER, expires_at_ms: NEVER }]);
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for step in 0.. {
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    memory_table.describe(&[1], &types[step % 2..][..1]);
                }
            });
            let wrong = (0..20_000)
                .map(|_| {
                    [&either, &both]
                        .map(|filter| memory_table.admit_within(None, 0, filter).expect("in time").memories())
                })
                .find(|counts| *counts != [1, 0]);
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None);
        });
    }

    #[test]
    fn showing_and_hiding_never_wait_for_a_filter_and_hidden_memories_lose_their_attributes() {
        let memory_table = MemoryTable::default();
        let visible_memory = |memory_key| VisibleMemory { memory_key, user_key: NO_USER, expires_at_ms: NEVER };
        let note = Filter::parse(&of_type("note")).expect("a filter");
        let notes = || seen(&memory_table, &memory_table.admit_within(None, 0, &note).expect("in time"));
        memory_table.describe(&[1, 2, 3], &[const { r#"{"type":"note"}"# }; 3].map(json));
        memory_table.show(&[visible_memory(1), visible_memory(2), visible_memory(3)]);
        let filter_lock = read(&memory_table.attributes); // as a running filter holds it
        memory_table.hide(&[1, 2]);
        memory_table.show(&[visible_memory(1), visible_memory(4)]);
        assert_eq!(seen(&memory_table, &memory_table.admit(None, 0)), [1, 3, 4]);
        drop(filter_lock);
        memory_table.describe(&[4], &[json(r#"{"type":"note"}"#)]);
        assert_eq!(notes(), [3, 4], "1 was shown again, without attributes");
        let filter_lock = read(&memory_table.attributes);
        memory_table.hide(&[3]);
        memory_table.show(&[visible_memory(3)]);
        drop(filter_lock);
        assert_eq!(notes(), [4]);
    }

    #[test]
    fn a_filter_that_takes_too_long_is_aborted() {
        let memory_table = MemoryTable::default();
        memory_table.describe(&[1], &[json(r#"{"type":"note"}"#)]);
        memory_table.show(&[VisibleMemory { memory_key: 1, user_key: NO_USER, expires_at_ms: NEVER }]);
        let filter = Filter::parse(&of_type("note")).expect("a filter");
        let refused = memory_table.admit_before_deadline(None, 0, &filter, Duration::ZERO).expect_err("no time left");
        assert_eq!(refused.code(), "too_dear");
        assert_eq!(memory_table.admit_within(None, 0, &filter).expect("in time").memories(), 1);
    }

    #[test]
    fn the_change_log_keeps_the_latest_changes() {
        let mut changes = ChangeLog::default();
        (0..CHANGES_MAX as u32 + 10).for_each(|ordinal| changes.record(ordinal));
        let since =
            |count: usize, limit: usize| changes.oldest_since(count, limit).map(|changed| changed.collect::<Vec<_>>());
        assert_eq!(since(CHANGES_MAX + 10, 16), Some(vec![]));
        assert_eq!(since(CHANGES_MAX + 8, 16), Some(vec![CHANGES_MAX as u32 + 8, CHANGES_MAX as u32 + 9]));
        assert_eq!(since(10, 2), Some(vec![10, 11]));
        assert_eq!(since(10, usize::MAX).map(|changed| changed.len()), Some(CHANGES_MAX));
        assert_eq!(since(9, 16), None);
    }

    #[test]
    fn a_memory_moved_to_another_user_is_not_returned_to_the_old_one() {
        let memory_table = MemoryTable::default();
        memory_table.show(&[VisibleMemory { memory_key: 1, user_key: 7, expires_at_ms: NEVER }]);
        let within = memory_table.admit(Some(7), 0);
        memory_table.show(&[VisibleMemory { memory_key: 1, user_key: 8, expires_at_ms: NEVER }]);
        let mut hits = memory_table.ordinals([1]);
        memory_table.retain_admitted(&within, &mut hits, |ordinal| *ordinal);
        assert!(hits.is_empty());
    }

    #[test]
    fn an_admissible_set_of_another_project_is_refused() {
        let (one, other) = (MemoryTable::default(), MemoryTable::default());
        assert_eq!(other.still_visible(&one.admit(None, 0)).expect_err("refused").code(), "invalid");
    }

    #[test]
    fn reserved_keys_are_refused() {
        assert!(check_key("memory key", 0).is_err());
        assert!(check_key("memory key", u64::MAX).is_err());
        assert!(check_key("memory key", 1).is_ok());
        assert!(check_key("memory key", u64::MAX - 1).is_ok());
    }
}
