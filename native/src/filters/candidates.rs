//! Which memories may a search return: visible, not expired, of the right user.
//! Every engine works inside the set that is made here; none of them filters afterwards. What attributes they have, and
//! which of them a filter names, is `filters::attributes` and `filters::filter`, over the same ordinals.

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

/// The user key of memories that belong to no user.
pub const NO_USER: u64 = 0;
/// The expiry of memories that never expire.
pub const NEVER: u64 = 0;
/// Changes of attributes that are remembered for filters under way: several rounds of publishing.
const CHANGES_KEPT: usize = 4_096;
/// Memories judged again at a stretch, so that changes do not wait for all of them.
const JUDGED_AT_ONCE: usize = 16;
/// The dearest filters of a few conditions take tens of milliseconds over 132,000 memories.
const FILTER_TIME_MAX: Duration = Duration::from_secs(5);
/// Memories described at a stretch, so that whoever shows or asks meanwhile waits for half a millisecond.
const DESCRIBED_AT_ONCE: usize = 64;

/// Refuses the two keys that stand for something else: 0 for "none", `u64::MAX` for USearch's free slots.
pub fn check_key(what: &str, key: u64) -> Result<()> {
    match key {
        0 | u64::MAX => Err(Error::invalid(format!("{what} {key} is reserved; keys are 1 to 2^64-2"))),
        _ => Ok(()),
    }
}

/// What becomes searchable, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Showing {
    /// The memory.
    pub memory_key: u64,
    /// Its user, or `NO_USER`.
    pub user_key: u64,
    /// The moment from which it is expired, in ms since 1970, or `NEVER`.
    pub expires_at_ms: u64,
}

/// The memories that one question may see, frozen when it was admitted. What is hidden afterwards is still kept out by
/// `Candidates::confine` and `Candidates::still_admits`.
#[derive(Debug, Clone)]
pub struct Admissible {
    set: MemorySet,
    user: Option<u64>,
    owner: u64,
}

impl Admissible {
    /// How many memories were admitted.
    pub fn memories(&self) -> usize {
        self.set.len()
    }
}

/// The in-memory index of a project's memories. Memory keys become dense ordinals here; an ordinal is never given to
/// another memory while the project is open, because an `Admissible` may still hold it. Safe from any thread.
///
/// What is shown is never held for long, so that showing and hiding wait for no filter; what attributes are, for one
/// condition of a filter at a time. Where both are needed, one is let go before the other is taken.
#[derive(Debug)]
pub struct Candidates {
    /// Tells the projects of a process apart, so that no set admitted in one is used in another.
    identity: u64,
    shown: RwLock<Shown>,
    described: RwLock<Described>,
    /// Ordinals that were hidden while a filter held `described`: what they are like is forgotten before anything else is
    /// asked or said of attributes. Emptied only while `described` is held for writing, so that nothing said later is lost.
    to_forget: Mutex<Vec<u32>>,
}

/// Which memories there are, and who may see them.
#[derive(Debug, Default)]
struct Shown {
    ordinals: FxHashMap<u64, u32>,
    memory_keys: Vec<u64>,
    users: Vec<u64>,
    expiries: Vec<u64>,
    visible: MemorySet,
    of_user: FxHashMap<u64, RoaringBitmap>,
    /// (expiry, ordinal) of the visible memories that expire, soonest first.
    expiring: BTreeSet<(u64, u32)>,
}

/// What the memories are like.
#[derive(Debug, Default)]
struct Described {
    attributes: AttributeIndex,
    changes: Changes,
}

/// Whose attributes changed lately.
#[derive(Debug, Default)]
struct Changes {
    count: usize,
    ordinals: VecDeque<u32>,
}

impl Changes {
    fn record(&mut self, ordinal: u32) {
        self.count += 1;
        self.ordinals.truncate(CHANGES_KEPT - 1);
        self.ordinals.push_front(ordinal);
    }

    /// The first `most` that changed since there were `count` changes; `None` where so many are not remembered.
    fn oldest_since(&self, count: usize, most: usize) -> Option<impl Iterator<Item = u32> + '_> {
        let changes = self.count - count;
        (changes <= self.ordinals.len()).then(|| self.ordinals.range(..changes).rev().take(most).copied())
    }
}

impl Default for Candidates {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Candidates {
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            shown: RwLock::default(),
            described: RwLock::default(),
            to_forget: Mutex::default(),
        }
    }
}

impl Candidates {
    /// Makes memories searchable, or changes the user and expiry of those that are. Microseconds per memory.
    pub fn show(&self, showings: &[Showing]) {
        let mut shown = write(&self.shown);
        for showing in showings {
            let ordinal = shown.ordinal(showing.memory_key);
            shown.hide(ordinal);
            shown.show(ordinal, showing);
        }
    }

    /// Says what attributes memories have, two slices of one length; replaces what was said of them before, and stays until
    /// they are hidden. Shown memories that were never described have none. Microseconds per memory.
    pub fn describe(&self, memory_keys: &[u64], attributes: &[Json]) {
        for (keys, attributes) in memory_keys.chunks(DESCRIBED_AT_ONCE).zip(attributes.chunks(DESCRIBED_AT_ONCE)) {
            let ordinals = self.ordinals(keys.iter().copied());
            let mut described = write(&self.described);
            described.forget(&self.to_forget);
            for (ordinal, attributes) in ordinals.into_iter().zip(attributes) {
                described.attributes.describe(ordinal, attributes);
                described.changes.record(ordinal);
            }
        }
    }

    /// Makes memories unsearchable at once, also for searches that hold an older `Admissible`, and forgets their
    /// attributes. Unknown keys are fine.
    pub fn hide(&self, memory_keys: &[u64]) {
        let hidden: Vec<u32> = {
            let mut shown = write(&self.shown);
            let hidden: Vec<u32> = shown.known_ordinals(memory_keys).flatten().collect();
            hidden.iter().for_each(|ordinal| shown.hide(*ordinal));
            // Before anyone else may show them again.
            self.to_forget.lock().unwrap_or_else(PoisonError::into_inner).extend(&hidden);
            hidden
        };
        if !hidden.is_empty()
            && let Ok(mut described) = self.described.try_write()
        {
            described.forget(&self.to_forget);
        }
    }

    /// The visible memories that are not expired at `now_ms`, of one user or, with `None`, of the whole project. Costs a
    /// copy of one bit per memory, plus the memories that have expired but were not yet hidden.
    pub fn admit(&self, user: Option<u64>, now_ms: u64) -> Admissible {
        Admissible { set: read(&self.shown).admitted(user, now_ms), user, owner: self.identity }
    }

    /// What `admit` admits, as far as it lies within a filter. Changes of attributes wait for one condition of it at most,
    /// which is milliseconds for the dearest; what changed between two conditions is judged again, a few memories at a time.
    /// `TooDear` for a filter that takes longer than any should.
    pub fn admit_within(&self, user: Option<u64>, now_ms: u64, filter: &Filter) -> Result<Admissible> {
        self.admit_in_time(user, now_ms, filter, FILTER_TIME_MAX)
    }

    fn admit_in_time(&self, user: Option<u64>, now_ms: u64, filter: &Filter, most: Duration) -> Result<Admissible> {
        let until = Instant::now() + most;
        'anew: loop {
            let admitted = read(&self.shown).admitted(user, now_ms);
            let mut judged = self.known_attributes().changes.count;
            let mut is_late = false;
            let mut set = filter.confine(&admitted, &mut |leaf, within| {
                is_late |= Instant::now() > until;
                // what is found does not matter any more
                if is_late { MemorySet::default() } else { read(&self.described).attributes.select(leaf, within) }
            });
            loop {
                if is_late || Instant::now() > until {
                    return Err(Error::TooDear(format!("it takes more than {} s", most.as_secs())));
                }
                let described = self.known_attributes();
                let Some(changed) = described.changes.oldest_since(judged, JUDGED_AT_ONCE) else { continue 'anew };
                for ordinal in changed {
                    judged += 1;
                    if !admitted.contains(ordinal) {
                        continue;
                    }
                    if filter.matches(&mut |leaf| described.attributes.holds(leaf, ordinal)) {
                        set.insert(ordinal);
                    } else {
                        set.remove(ordinal);
                    }
                }
                if judged == described.changes.count {
                    return Ok(Admissible { set, user, owner: self.identity });
                }
            }
        }
    }

    /// What of an admitted set is still visible: where every search begins. `Invalid` for a set of another project.
    pub fn confine(&self, within: &Admissible) -> Result<MemorySet> {
        if within.owner != self.identity {
            return Err(Error::invalid("the admissible set was made by another index"));
        }
        Ok(read(&self.shown).visible.intersection(&within.set))
    }

    /// Drops the hits whose memory was hidden, or given to another user, while the search ran: where every search ends.
    pub fn retain_admitted<Hit>(&self, within: &Admissible, hits: &mut Vec<Hit>, ordinal_of: impl Fn(&Hit) -> u32) {
        let shown = read(&self.shown);
        hits.retain(|hit| {
            let ordinal = ordinal_of(hit);
            let is_users = within.user.is_none_or(|user| shown.users.get(ordinal as usize) == Some(&user));
            shown.visible.contains(ordinal) && within.set.contains(ordinal) && is_users
        });
    }

    /// The ordinal of a memory key, a new one if it was never seen.
    pub fn ordinal(&self, memory_key: u64) -> u32 {
        let known = read(&self.shown).ordinals.get(&memory_key).copied();
        known.unwrap_or_else(|| write(&self.shown).ordinal(memory_key))
    }

    /// The ordinals of memory keys, new ones for keys never seen; order kept. Known ones wait for no reader.
    pub fn ordinals(&self, memory_keys: impl IntoIterator<Item = u64>) -> Vec<u32> {
        let memory_keys: Vec<u64> = memory_keys.into_iter().collect();
        let known: Option<Vec<u32>> = read(&self.shown).known_ordinals(&memory_keys).collect();
        known.unwrap_or_else(|| {
            let mut shown = write(&self.shown);
            memory_keys.iter().map(|key| shown.ordinal(*key)).collect()
        })
    }

    /// The ordinals of memory keys, `None` for keys never seen; order kept.
    pub fn known_ordinals(&self, memory_keys: &[u64]) -> Vec<Option<u32>> {
        read(&self.shown).known_ordinals(memory_keys).collect()
    }

    /// The memory keys behind ordinals that this index gave out; order kept.
    pub fn memory_keys(&self, ordinals: impl IntoIterator<Item = u32>) -> Vec<u64> {
        let shown = read(&self.shown);
        ordinals.into_iter().map(|ordinal| shown.memory_keys[ordinal as usize]).collect()
    }

    /// Number of memories that have an ordinal, hidden ones included.
    pub fn len(&self) -> usize {
        read(&self.shown).memory_keys.len()
    }

    /// The attributes of what was not hidden up to now.
    fn known_attributes(&self) -> RwLockReadGuard<'_, Described> {
        let is_forgotten = self.to_forget.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if !is_forgotten {
            write(&self.described).forget(&self.to_forget);
        }
        read(&self.described)
    }
}

// Nothing here panics half-way through a change, so a poisoned lock guards sound data.
fn read<Guarded>(lock: &RwLock<Guarded>) -> RwLockReadGuard<'_, Guarded> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<Guarded>(lock: &RwLock<Guarded>) -> RwLockWriteGuard<'_, Guarded> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Described {
    /// Forgets the attributes of what is listed, and empties the list.
    fn forget(&mut self, listed: &Mutex<Vec<u32>>) {
        let ordinals = std::mem::take(&mut *listed.lock().unwrap_or_else(PoisonError::into_inner));
        for ordinal in ordinals {
            self.attributes.forget(ordinal);
            self.changes.record(ordinal);
        }
    }
}

impl Shown {
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
            Some(user) => self.of_user.get(&user).into_iter().flatten().collect(),
        };
        for (_, ordinal) in self.expiring.range(..=(now_ms, u32::MAX)) {
            set.remove(*ordinal);
        }
        set
    }

    fn known_ordinals<'keys>(&'keys self, memory_keys: &'keys [u64]) -> impl Iterator<Item = Option<u32>> + 'keys {
        memory_keys.iter().map(|key| self.ordinals.get(key).copied())
    }

    fn show(&mut self, ordinal: u32, showing: &Showing) {
        self.visible.insert(ordinal);
        self.users[ordinal as usize] = showing.user_key;
        self.expiries[ordinal as usize] = showing.expires_at_ms;
        if showing.user_key != NO_USER {
            self.of_user.entry(showing.user_key).or_default().insert(ordinal);
        }
        if showing.expires_at_ms != NEVER {
            self.expiring.insert((showing.expires_at_ms, ordinal));
        }
    }

    fn hide(&mut self, ordinal: u32) {
        self.visible.remove(ordinal);
        let user = self.users[ordinal as usize];
        if let Some(memories) = self.of_user.get_mut(&user) {
            memories.remove(ordinal);
            if memories.is_empty() {
                self.of_user.remove(&user);
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

    fn seen(candidates: &Candidates, within: &Admissible) -> Vec<u64> {
        let set = candidates.confine(within).expect("same index");
        let mut keys = candidates.memory_keys(set.iter());
        keys.sort_unstable();
        keys
    }

    #[test]
    fn admits_what_a_plain_list_of_memories_admits() {
        let mut chance = Chance::new();
        let candidates = Candidates::default();
        let mut model: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for step in 0..3_000 {
            let memory_key = 1 + chance.below(200) as u64;
            if chance.below(3) == 0 {
                candidates.hide(&[memory_key]);
                model.remove(&memory_key);
            } else {
                let (user_key, expires_at_ms) = (chance.below(5) as u64, chance.below(50) as u64);
                candidates.show(&[Showing { memory_key, user_key, expires_at_ms }]);
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
                let within = candidates.admit(user, now_ms);
                assert_eq!(seen(&candidates, &within), expected);
                assert_eq!(within.memories(), expected.len());
            }
        }
        assert_eq!(read(&candidates.shown).visible.len(), model.len());
    }

    #[test]
    fn a_hidden_memory_is_gone_from_sets_admitted_before() {
        let candidates = Candidates::default();
        let showing = |memory_key| Showing { memory_key, user_key: 7, expires_at_ms: NEVER };
        candidates.show(&[showing(1), showing(2)]);
        let within = candidates.admit(Some(7), 0);
        let mut hits = candidates.ordinals([1, 2]);
        candidates.hide(&[1]);
        assert_eq!(seen(&candidates, &within), [2]);
        candidates.retain_admitted(&within, &mut hits, |ordinal| *ordinal);
        assert_eq!(candidates.memory_keys(hits), [2]);
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
    fn a_filter_never_widens_the_set_whatever_it_asks_for() {
        let candidates = Candidates::default();
        candidates.describe(&[1, 2, 3, 4, 5, 6], &[const { r#"{"type":"note"}"# }; 6].map(json));
        candidates.show(&[
            Showing { memory_key: 1, user_key: 7, expires_at_ms: NEVER },
            Showing { memory_key: 2, user_key: 8, expires_at_ms: NEVER },
            Showing { memory_key: 3, user_key: 7, expires_at_ms: 10 },
            Showing { memory_key: 4, user_key: 7, expires_at_ms: NEVER },
            Showing { memory_key: 5, user_key: NO_USER, expires_at_ms: NEVER },
        ]);
        candidates.hide(&[4]);
        let admitted = |user: Option<u64>, filter: &str| {
            let filter = Filter::parse(filter).expect("a filter");
            seen(&candidates, &candidates.admit_within(user, 10, &filter).expect("in time"))
        };
        let (note, mail) = (of_type("note"), of_type("mail"));
        let not_mail = format!(r#"{{"kind":"not","filter":{mail}}}"#);
        for filter in [&note, &not_mail, &format!(r#"{{"kind":"or","filters":[{mail},{note}]}}"#)] {
            assert_eq!(admitted(Some(7), filter), [1]);
            assert_eq!(admitted(None, filter), [1, 2, 5]);
            assert_eq!(admitted(Some(9), filter), [0; 0]);
        }
        assert_eq!(admitted(None, &mail), [0; 0]);
        candidates.show(&[Showing { memory_key: 4, user_key: 7, expires_at_ms: NEVER }]);
        assert_eq!(admitted(Some(7), &note), [1], "what was hidden has no attributes any more");
    }

    #[test]
    fn a_memory_that_changes_while_a_filter_runs_is_judged_as_a_whole() {
        let candidates = Candidates::default();
        let (note, mail) = (of_type("note"), of_type("mail"));
        let either = Filter::parse(&format!(r#"{{"kind":"or","filters":[{note},{mail}]}}"#)).expect("a filter");
        let both = Filter::parse(&format!(r#"{{"kind":"and","filters":[{note},{mail}]}}"#)).expect("a filter");
        let types = [r#"{"type":"note"}"#, r#"{"type":"mail"}"#].map(json);
        candidates.describe(&[1], &types[..1]);
        candidates.show(&[Showing { memory_key: 1, user_key: NO_USER, expires_at_ms: NEVER }]);
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for step in 0.. {
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    candidates.describe(&[1], &types[step % 2..][..1]);
                }
            });
            let verdicts = (0..20_000)
                .map(|_| {
                    [&either, &both].map(|filter| candidates.admit_within(None, 0, filter).expect("in time").memories())
                })
                .find(|verdicts| *verdicts != [1, 0]);
            is_done.store(true, Ordering::Relaxed);
            assert_eq!(verdicts, None);
        });
    }

    #[test]
    fn showing_and_hiding_wait_for_no_filter_and_what_was_hidden_meanwhile_is_forgotten() {
        let candidates = Candidates::default();
        let showing = |memory_key| Showing { memory_key, user_key: NO_USER, expires_at_ms: NEVER };
        let note = Filter::parse(&of_type("note")).expect("a filter");
        let notes = || seen(&candidates, &candidates.admit_within(None, 0, &note).expect("in time"));
        candidates.describe(&[1, 2, 3], &[const { r#"{"type":"note"}"# }; 3].map(json));
        candidates.show(&[showing(1), showing(2), showing(3)]);
        let condition = read(&candidates.described); // as a filter holds it
        candidates.hide(&[1, 2]);
        candidates.show(&[showing(1), showing(4)]);
        assert_eq!(seen(&candidates, &candidates.admit(None, 0)), [1, 3, 4]);
        drop(condition);
        candidates.describe(&[4], &[json(r#"{"type":"note"}"#)]);
        assert_eq!(notes(), [3, 4], "1 was shown again, with no attributes");
        let condition = read(&candidates.described);
        candidates.hide(&[3]);
        candidates.show(&[showing(3)]);
        drop(condition);
        assert_eq!(notes(), [4]);
    }

    #[test]
    fn a_filter_that_takes_too_long_is_given_up() {
        let candidates = Candidates::default();
        candidates.describe(&[1], &[json(r#"{"type":"note"}"#)]);
        candidates.show(&[Showing { memory_key: 1, user_key: NO_USER, expires_at_ms: NEVER }]);
        let filter = Filter::parse(&of_type("note")).expect("a filter");
        let refused = candidates.admit_in_time(None, 0, &filter, Duration::ZERO).expect_err("no time at all");
        assert_eq!(refused.code(), "too_dear");
        assert_eq!(candidates.admit_within(None, 0, &filter).expect("in time").memories(), 1);
    }

    #[test]
    fn changes_are_remembered_up_to_a_number() {
        let mut changes = Changes::default();
        (0..CHANGES_KEPT as u32 + 10).for_each(|ordinal| changes.record(ordinal));
        let since =
            |count: usize, most: usize| changes.oldest_since(count, most).map(|changed| changed.collect::<Vec<_>>());
        assert_eq!(since(CHANGES_KEPT + 10, 16), Some(vec![]));
        assert_eq!(since(CHANGES_KEPT + 8, 16), Some(vec![CHANGES_KEPT as u32 + 8, CHANGES_KEPT as u32 + 9]));
        assert_eq!(since(10, 2), Some(vec![10, 11]));
        assert_eq!(since(10, usize::MAX).map(|changed| changed.len()), Some(CHANGES_KEPT));
        assert_eq!(since(9, 16), None);
    }

    #[test]
    fn a_memory_that_changed_hands_is_not_returned_to_the_old_user() {
        let candidates = Candidates::default();
        candidates.show(&[Showing { memory_key: 1, user_key: 7, expires_at_ms: NEVER }]);
        let within = candidates.admit(Some(7), 0);
        candidates.show(&[Showing { memory_key: 1, user_key: 8, expires_at_ms: NEVER }]);
        let mut hits = candidates.ordinals([1]);
        candidates.retain_admitted(&within, &mut hits, |ordinal| *ordinal);
        assert!(hits.is_empty());
    }

    #[test]
    fn a_set_of_another_project_is_refused() {
        let (one, other) = (Candidates::default(), Candidates::default());
        assert_eq!(other.confine(&one.admit(None, 0)).expect_err("refused").code(), "invalid");
    }

    #[test]
    fn reserved_keys_are_refused() {
        assert!(check_key("memory key", 0).is_err());
        assert!(check_key("memory key", u64::MAX).is_err());
        assert!(check_key("memory key", 1).is_ok());
        assert!(check_key("memory key", u64::MAX - 1).is_ok());
    }
}
