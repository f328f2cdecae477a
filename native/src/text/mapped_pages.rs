//! Gives back pages of mapped files that were read once and are rarely needed again.

use std::path::PathBuf;

use tantivy::TantivyError;
use tantivy::directory::Directory;

use crate::error::Result;
use crate::text::snapshot::Snapshot;

/// Removes the pages of stored passages from the memory of this process. Opening an index reads all of them, but
/// searches read few.
pub(crate) fn release_stores(snapshot: &Snapshot) -> Result<()> {
    let directory = snapshot.searcher.index().directory();
    for segment in &snapshot.segments {
        let path = PathBuf::from(format!("{}.store", segment.reader.segment_id().uuid_string()));
        let store = directory.open_read(&path).map_err(TantivyError::from)?;
        // SAFETY: the bytes are those of a mapped file, because `directory` maps its files.
        unsafe { release(&store.read_bytes().map_err(TantivyError::from)?) };
    }
    Ok(())
}

/// Removes the whole pages of mapped bytes from the memory of this process. They stay in the operating system's cache
/// of files, and the next access maps them again. Does nothing where the operating system has no such call.
///
/// # Safety
/// The bytes must be those of a file that is mapped for reading. Others would become zeros.
unsafe fn release(mapped: &[u8]) {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the call reads a setting.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0);
        let start = mapped.as_ptr().addr();
        let end = (start + mapped.len()).checked_div(page).unwrap_or(0) * page;
        let first = start.next_multiple_of(page.max(1));
        if first < end {
            let pages = mapped[first - start..].as_ptr().cast_mut().cast();
            // SAFETY: the range lies within `mapped`, whose pages are those of a file. So their contents are the same
            // when they are mapped again. If the call fails, the pages stay.
            unsafe { libc::madvise(pages, end - first, libc::MADV_DONTNEED) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = mapped;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use memmap2::Mmap;
    use mneme_testing::TempDir;

    /// Size of the part of the mapping that is in the memory of this process, in KiB.
    fn resident_kib(map: &Mmap) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("the maps of this process");
        let name = format!("{:x}-", map.as_ptr().addr());
        let mapping = smaps.lines().skip_while(|line| !line.starts_with(&name));
        let rss = mapping.skip(1).find_map(|line| line.strip_prefix("Rss:")).expect("its resident size");
        rss.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    #[test]
    fn released_pages_leave_the_process_and_keep_their_bytes() {
        let folder = TempDir::new("mapped");
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..1 << 20).map(|at: usize| (at * 31 % 251) as u8).collect();
        std::fs::write(&path, &bytes).expect("a file");
        let file = std::fs::File::open(&path).expect("the file");
        // SAFETY: nothing changes the file.
        let map = unsafe { Mmap::map(&file) }.expect("a map");
        assert_eq!(&map[..], &bytes[..]);
        assert!(resident_kib(&map) >= 1024);
        // SAFETY: a mapped file.
        unsafe { release(&map[100..bytes.len() - 5000]) };
        let left = resident_kib(&map);
        assert!(left <= 64, "{left} KiB"); // the first page and the last two
        assert_eq!(&map[..], &bytes[..]);
        for short in [0..0, 5..9, 1..4095, 4095..4097] {
            // SAFETY: a mapped file.
            unsafe { release(&map[short]) };
        }
        assert_eq!(&map[..], &bytes[..]);
    }
}
