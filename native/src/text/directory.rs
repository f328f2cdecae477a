//! Stores the files of the text index. Wraps Tantivy's folder of memory-mapped files and waits less often for the disk.
//!
//! By itself, Tantivy syncs every file of a commit separately, and before each one it rewrites and syncs its list of
//! files: about twenty waits in sequence. Here, all files of a commit are synced once and in parallel, right before the
//! new commit description (`meta.json`) replaces the old one. This is early enough, because nothing refers to the new
//! files before that.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::error::{Error, Result};
use crate::files::set_aside;

/// The commit description, which lists the segments that searches read.
pub(crate) const META: &str = "meta.json";
/// Last line of the commit description on disk, followed by the CRC-32 of what is before it. Tantivy writes no
/// checksum. Descriptions of earlier versions of Mneme have no such line.
const META_CHECKSUM: &[u8] = b"\ncrc32 ";
/// Tantivy's list of the files that it manages and may delete. The list can be out of date, because it is written only
/// with a commit. `rewrite_file_list` corrects it when the index is opened.
const MANAGED: &str = ".managed.json";
/// Number of hex digits of a segment's name. The file names of a segment begin with it.
const SEGMENT_NAME_DIGITS: usize = 32;

/// The folder of a text index. Clones of this object share the list of pending files.
#[derive(Debug, Clone)]
pub(crate) struct TextDirectory {
    root: Arc<Path>,
    files: MmapDirectory,
    pending: Arc<Mutex<Pending>>,
    /// Held while a commit description is replaced. `close` takes it, so it waits for a replacement in progress.
    description_lock: Arc<Mutex<()>>,
}

/// Content that was written since the last commit, but may not be on disk yet.
#[derive(Debug, Default)]
struct Pending {
    /// Files that are complete, but not yet synced.
    files: Vec<File>,
    /// Content of `.managed.json` that is not yet written.
    managed: Option<Vec<u8>>,
    is_closed: bool,
}

impl TextDirectory {
    /// Opens an existing folder.
    pub(crate) fn open(root: &Path) -> Result<TextDirectory> {
        let files = MmapDirectory::open(root).map_err(tantivy::TantivyError::from)?;
        Ok(TextDirectory { root: root.into(), files, pending: Arc::default(), description_lock: Arc::default() })
    }

    /// Refuses all further changes, also those through clones. From then on the files on disk no longer change, even if
    /// threads of Tantivy are still running.
    pub(crate) fn close(&self) {
        let _description_lock = self.description_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.pending().is_closed = true;
    }

    /// Removes the files of segments, whose names begin with 32 hex digits, except the given ones. A process that ends
    /// during a commit or a merge leaves segments, and lists of deleted documents, that no commit contains. The next
    /// commit could not write such a list, because it may have the same name. Does nothing while a writer has the
    /// folder open.
    pub(crate) fn remove_orphaned_files(&self, committed: &HashSet<PathBuf>) -> Result<()> {
        let Ok(_lock) = self.acquire_lock(&INDEX_WRITER_LOCK) else { return Ok(()) };
        let removed = fs::read_dir(&self.root).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name();
                let segment = name.to_str().and_then(|name| name.get(..SEGMENT_NAME_DIGITS)).unwrap_or_default();
                let is_segment = segment.len() == SEGMENT_NAME_DIGITS && segment.bytes().all(|b| b.is_ascii_hexdigit());
                if is_segment && !committed.contains(Path::new(&name)) {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        });
        removed
            .map_err(|cause| Error::from_io(&format!("removing orphaned files from {}", self.root.display()), &cause))
    }

    /// Replaces Tantivy's list of its files by the files that are there. Tantivy checks and deletes only listed files.
    /// Returns a sentence for the operator if the list is damaged, which does no harm.
    pub(crate) fn rewrite_file_list(&self) -> Result<Option<String>> {
        let Ok(_lock) = self.acquire_lock(&INDEX_WRITER_LOCK) else { return Ok(None) };
        if !self.root.join(META).exists() {
            return Ok(None);
        }
        let path = self.root.join(MANAGED);
        let failed = |cause: &io::Error| Error::from_io(&format!("listing {}", self.root.display()), cause);
        let entries = fs::read_dir(&self.root).map_err(|cause| failed(&cause))?.flatten();
        let names = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let listed: BTreeSet<String> = names.filter(|name| !name.starts_with('.')).collect();
        let stored = fs::read_to_string(&path);
        let known = stored.as_ref().ok().and_then(|text| decode_file_list(text));
        if known.as_ref() == Some(&listed) {
            return Ok(None);
        }
        let is_damaged = known.is_none() && !matches!(&stored, Err(cause) if cause.kind() == io::ErrorKind::NotFound);
        let repair = if is_damaged {
            let aside = set_aside(&path)?;
            let (path, aside) = (path.display(), aside.display());
            Some(format!("{path} is damaged (it is no list of files); it was set aside as {aside} and written again"))
        } else {
            None
        };
        self.files
            .atomic_write(Path::new(MANAGED), encode_file_list(&listed).as_bytes())
            .map_err(|cause| failed(&cause))?;
        Ok(repair)
    }

    /// Syncs all pending files to disk and waits for that. The commit description is not among them.
    fn sync_pending(&self) -> io::Result<()> {
        let (files, managed) = {
            let mut pending = self.pending();
            (std::mem::take(&mut pending.files), pending.managed.take())
        };
        std::thread::scope(|scope| {
            let list =
                scope.spawn(|| managed.map_or(Ok(()), |list| self.files.atomic_write(Path::new(MANAGED), &list)));
            let synced: Vec<_> = files.iter().map(|file| scope.spawn(|| file.sync_data())).collect();
            let mut all = synced.into_iter().chain([list]);
            all.try_for_each(|one| one.join().unwrap_or_else(|_| Err(io::Error::other("a sync panicked"))))
        })?;
        self.files.sync_directory()
    }

    fn check_open(&self) -> io::Result<()> {
        if self.pending().is_closed { Err(io::Error::other("the text index is closed")) } else { Ok(()) }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory for TextDirectory {
    fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let _description_lock = self.description_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_open()?;
        if path == Path::new(MANAGED) {
            self.pending().managed = Some(content.to_owned());
            return Ok(());
        }
        if path == Path::new(META) {
            self.sync_pending()?;
            self.files.atomic_write(path, &with_checksum(content))?;
        } else {
            self.files.atomic_write(path, content)?;
        }
        self.files.sync_directory()
    }

    /// Does nothing, because `atomic_write` syncs the folder before and after it writes a commit description.
    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        self.check_open().map_err(|cause| OpenWriteError::wrap_io_error(cause, path.to_owned()))?;
        let opened = OpenOptions::new().write(true).create_new(true).open(self.root.join(path));
        let file = opened.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(cause, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(PendingFile { file: Some(file), pending: Arc::clone(&self.pending) })))
    }

    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        let listed = self.pending().managed.clone().filter(|_| path == Path::new(MANAGED));
        if let Some(listed) = listed {
            return Ok(listed);
        }
        let content = self.files.atomic_read(path)?;
        if path != Path::new(META) {
            return Ok(content);
        }
        without_checksum(content).map_err(|cause| OpenReadError::wrap_io_error(cause, path.to_owned()))
    }

    fn get_file_handle(&self, path: &Path) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        self.check_open()
            .map_err(|cause| DeleteError::IoError { io_error: Arc::new(cause), filepath: path.to_owned() })?;
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn acquire_lock(&self, lock: &Lock) -> std::result::Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

fn with_checksum(content: &[u8]) -> Vec<u8> {
    let checksum = format!("{:08x}\n", crc32fast::hash(content));
    [content, META_CHECKSUM, checksum.as_bytes()].concat()
}

/// Removes the checksum of a commit description. Fails with `InvalidData` if it is wrong.
fn without_checksum(mut content: Vec<u8>) -> io::Result<Vec<u8>> {
    let Some(end) = memchr::memmem::rfind(&content, META_CHECKSUM) else { return Ok(content) };
    if with_checksum(&content[..end]) != content {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it has a wrong checksum"));
    }
    content.truncate(end);
    Ok(content)
}

/// The list as JSON. No name has characters that JSON escapes.
fn encode_file_list(names: &BTreeSet<String>) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]\n", quoted.join(","))
}

fn decode_file_list(text: &str) -> Option<BTreeSet<String>> {
    let names = text.trim_end().strip_prefix('[')?.strip_suffix(']')?;
    let name = |quoted: &str| {
        let name = quoted.trim().strip_prefix('"')?.strip_suffix('"')?;
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        is_plain.then(|| name.to_owned())
    };
    if names.is_empty() { Some(BTreeSet::new()) } else { names.split(',').map(name).collect() }
}

/// A file that is being written. Once complete, it is added to `Pending`, which is synced later.
struct PendingFile {
    file: Option<File>,
    pending: Arc<Mutex<Pending>>,
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_closed = self.pending.lock().unwrap_or_else(PoisonError::into_inner).is_closed;
        match &mut self.file {
            Some(file) if !is_closed => file.write(bytes),
            _ => Err(io::Error::other("the file is already complete, or the text index is closed")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for PendingFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        let pending = &mut self.pending.lock().unwrap_or_else(PoisonError::into_inner).files;
        pending.extend(self.file.take());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mneme_testing::TempDir;

    #[test]
    fn writing_a_commit_description_first_syncs_all_pending_files() {
        let folder = TempDir::new("directory");
        let directory = TextDirectory::open(folder.path()).expect("opened");
        for name in ["a.store", "b.store"] {
            let mut writer = directory.open_write(Path::new(name)).expect("opened");
            writer.write_all(b"content").expect("written");
            writer.terminate().expect("completed");
        }
        directory.atomic_write(Path::new(MANAGED), b"[]").expect("noted");
        assert_eq!(directory.pending().files.len(), 2);
        assert_eq!(directory.atomic_read(Path::new(MANAGED)).expect("read"), b"[]");
        assert!(!folder.path().join(MANAGED).exists());

        directory.atomic_write(Path::new(META), b"{}").expect("committed");
        assert!(directory.pending().files.is_empty() && directory.pending().managed.is_none());
        assert_eq!(fs::read(folder.path().join("b.store")).expect("read"), b"content");
        assert_eq!(fs::read(folder.path().join(MANAGED)).expect("read"), b"[]");
        assert_eq!(fs::read(folder.path().join(META)).expect("read"), b"{}\ncrc32 a3a6bf43\n");
        assert_eq!(directory.atomic_read(Path::new(META)).expect("read"), b"{}");
    }

    #[test]
    fn only_files_that_no_commit_contains_are_removed_and_never_during_writing() {
        let folder = TempDir::new("directory");
        let (known, orphaned) = ("0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff");
        let committed = [format!("{known}.store"), format!("{known}.7.del")];
        let others = [META.to_owned(), "note".to_owned()];
        let removed = [format!("{known}.12.del"), format!("{orphaned}.store"), format!("{orphaned}.12.del")];
        let exists = |name: &String| folder.path().join(name).exists();
        let all = || committed.iter().chain(&others).chain(&removed);
        all().for_each(|name| fs::write(folder.path().join(name), "").expect("written"));
        let directory = TextDirectory::open(folder.path()).expect("opened");
        let kept: HashSet<PathBuf> = committed.iter().map(PathBuf::from).collect();
        {
            let _writer_lock = directory.acquire_lock(&INDEX_WRITER_LOCK).expect("free");
            directory.remove_orphaned_files(&kept).expect("removed");
            assert!(all().all(exists), "the writer lock is held");
        }
        directory.remove_orphaned_files(&kept).expect("removed");
        assert!(committed.iter().chain(&others).all(exists));
        assert!(!removed.iter().any(exists));
    }

    #[test]
    fn every_flipped_bit_of_a_commit_description_is_noticed_and_one_without_a_checksum_is_read() {
        let folder = TempDir::new("directory");
        let directory = TextDirectory::open(folder.path()).expect("opened");
        let content = br#"{"segments":[],"opstamp":7}"#;
        fs::write(folder.path().join(META), content).expect("written");
        assert_eq!(directory.atomic_read(Path::new(META)).expect("read"), content);
        directory.atomic_write(Path::new(META), content).expect("committed");
        let stored = fs::read(folder.path().join(META)).expect("read");
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(folder.path().join(META), &flipped).expect("written");
            // If the flipped bit hides the checksum line, the content is returned as it is, and Tantivy refuses the
            // bytes after the JSON.
            let read = directory.atomic_read(Path::new(META));
            assert!(read.map_or(true, |read| read == flipped), "bit {bit}");
        }
    }

    #[test]
    fn the_list_of_files_is_made_from_the_folder_and_damage_of_it_is_reported() {
        let folder = TempDir::new("directory");
        let directory = TextDirectory::open(folder.path()).expect("opened");
        let path = folder.path().join(MANAGED);
        assert_eq!(directory.rewrite_file_list().expect("nothing to do"), None);
        assert!(!path.exists(), "an empty folder has no list");
        for name in [META, "b.store", "a.idx"] {
            fs::write(folder.path().join(name), "").expect("written");
        }
        let expected = "[\"a.idx\",\"b.store\",\"meta.json\"]\n";
        for (stored, is_damage) in [(None, false), (Some(r#"["a.idx"]"#), false), (Some("["), true), (Some(""), true)] {
            match stored {
                Some(text) => fs::write(&path, text).expect("written"),
                None => fs::remove_file(&path).unwrap_or_default(),
            }
            assert_eq!(directory.rewrite_file_list().expect("rewritten").is_some(), is_damage, "{stored:?}");
            assert_eq!(fs::read_to_string(&path).expect("read"), expected);
        }
        let _writer_lock = directory.acquire_lock(&INDEX_WRITER_LOCK).expect("free");
        fs::write(&path, "[]").expect("written");
        assert_eq!(directory.rewrite_file_list().expect("skipped"), None);
        assert_eq!(fs::read_to_string(&path).expect("read"), "[]", "a writer has the folder open");
    }

    #[test]
    fn a_closed_folder_refuses_changes_and_can_still_be_read() {
        let folder = TempDir::new("directory");
        let directory = TextDirectory::open(folder.path()).expect("opened");
        directory.atomic_write(Path::new(META), b"{}").expect("committed");
        let clone = directory.clone();
        directory.close();
        assert!(clone.atomic_write(Path::new(META), b"{1}").is_err());
        assert!(clone.open_write(Path::new("a.store")).is_err());
        assert!(clone.delete(Path::new(META)).is_err());
        assert_eq!(clone.atomic_read(Path::new(META)).expect("still readable"), b"{}");
    }
}
