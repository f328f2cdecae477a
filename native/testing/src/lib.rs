//! Test helpers for all of Mneme's crates: temporary folders, repeatable random data, and waiting for a condition.

pub mod naive_bm25;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that is removed when the test ends.
pub struct TempDir {
    path: PathBuf,
}

impl TempDir {
    /// Creates `<system temp>/mneme-<label>-<pid>-<n>`.
    pub fn new(label: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("mneme-{label}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the system's temporary folder is writable");
        TempDir { path }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // If the folder cannot be removed, the test does not fail; the system will clean up its temporary folder.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// A random generator (SplitMix64). A failed run can be repeated: set `MNEME_TEST_SEED` to the printed seed.
pub struct Chance {
    state: u64,
}

impl Default for Chance {
    fn default() -> Self {
        Chance::new()
    }
}

impl Chance {
    /// Creates a generator with a seed from the environment variable `MNEME_TEST_SEED`, or else from the clock. Prints
    /// the seed, which cargo shows if the test fails.
    pub fn new() -> Self {
        let seed = std::env::var("MNEME_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map(|elapsed| elapsed.as_nanos() as u64).unwrap_or(1)
        });
        println!("MNEME_TEST_SEED={seed}");
        Chance::seeded(seed)
    }

    /// Creates a generator that yields the same numbers in each run.
    pub fn seeded(seed: u64) -> Self {
        Chance { state: seed }
    }

    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a random number in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// Returns a random vector of unit length, made of independent components.
    pub fn unit_vector(&mut self, dimensions: usize) -> Vec<f32> {
        let raw: Vec<f32> = (0..dimensions).map(|_| self.gaussian()).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.iter().map(|x| x / norm).collect()
    }

    fn gaussian(&mut self) -> f32 {
        // The sum of twelve uniform random numbers minus six is close enough to a normal distribution for test vectors.
        (0..12).map(|_| (self.bits() >> 40) as f32 / (1u64 << 24) as f32).sum::<f32>() - 6.0
    }
}

/// Waits until a condition is true. After half a minute, panics with the name of the condition.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !condition() {
        assert!(std::time::Instant::now() < deadline, "in time: {what}");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
