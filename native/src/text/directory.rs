//! Where the text index keeps its files: Tantivy's folder of memory-mapped files, with fewer waits for the disk.
//!
//! Tantivy syncs each of a commit's files by itself and rewrites its list of files, synced too, before each: some
//! twenty waits one after the other. Here everything that a commit wrote is synced side by side, once, right before the
//! commit's description (`meta.json`) replaces the former one. Until then nothing refers to those files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, INDEX_WRITER_LOCK, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use crate::error::{Error, Result};

/// The description of a commit: what is in it is what is searched.
const META: &str = "meta.json";
/// Tantivy's list of the files that it may one day remove. It may be out of date: `remove_strays` finds the rest.
const MANAGED: &str = ".managed.json";
/// Hex digits in the name of a segment, which the names of its files begin with.
const SEGMENT_NAME_DIGITS: usize = 32;

/// The folder. Clones share what is pending.
#[derive(Debug, Clone)]
pub(crate) struct TextDirectory {
    root: Arc<Path>,
    files: MmapDirectory,
    pending: Arc<Mutex<Pending>>,
    /// Held while a commit's description is replaced, so that `shut` waits for one that is under way.
    describing: Arc<Mutex<()>>,
}

/// What was written since the last commit and is not known to be on the disk.
#[derive(Debug, Default)]
struct Pending {
    files: Vec<File>,
    managed: Option<Vec<u8>>,
    is_shut: bool,
}

impl TextDirectory {
    /// Opens a folder, which must exist.
    pub(crate) fn open(root: &Path) -> Result<TextDirectory> {
        let files = MmapDirectory::open(root).map_err(tantivy::TantivyError::from)?;
        Ok(TextDirectory { root: root.into(), files, pending: Arc::default(), describing: Arc::default() })
    }

    /// Refuses every further change, through all clones. What is on the disk then stays as the last commit left it,
    /// whatever threads of Tantivy's are still at work.
    pub(crate) fn shut(&self) {
        let _describing = self.describing.lock().unwrap_or_else(PoisonError::into_inner);
        self.pending().is_shut = true;
    }

    /// Removes the files of segments that are not among those given (names of 32 hex digits): what a process left that
    /// ended in the middle of a commit or a merge. Does nothing while somebody has the folder open for writing.
    pub(crate) fn remove_strays(&self, segments: &FxHashSet<String>) -> Result<()> {
        let Ok(_lock) = self.acquire_lock(&INDEX_WRITER_LOCK) else { return Ok(()) };
        let removed = fs::read_dir(&self.root).and_then(|entries| {
            for entry in entries {
                let entry = entry?;
                let name = entry.file_name();
                let segment = name.to_str().and_then(|name| name.get(..SEGMENT_NAME_DIGITS)).unwrap_or_default();
                let is_segment = segment.len() == SEGMENT_NAME_DIGITS && segment.bytes().all(|b| b.is_ascii_hexdigit());
                if is_segment && !segments.contains(segment) {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        });
        removed.map_err(|cause| Error::from_io(&format!("sweeping {}", self.root.display()), &cause))
    }

    /// Waits until the disk has everything written so far, except descriptions of commits.
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
        if self.pending().is_shut { Err(io::Error::other("the text index was closed")) } else { Ok(()) }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directory for TextDirectory {
    fn atomic_write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let _describing = self.describing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_open()?;
        if path == Path::new(MANAGED) {
            self.pending().managed = Some(content.to_owned());
            return Ok(());
        }
        if path == Path::new(META) {
            self.sync_pending()?;
        }
        self.files.atomic_write(path, content)?;
        self.files.sync_directory()
    }

    /// `atomic_write` syncs the folder before and after whatever has to be durable.
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
        listed.map_or_else(|| self.files.atomic_read(path), Ok)
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

/// A file that is handed over for syncing when it is complete.
struct PendingFile {
    file: Option<File>,
    pending: Arc<Mutex<Pending>>,
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_shut = self.pending.lock().unwrap_or_else(PoisonError::into_inner).is_shut;
        match &mut self.file {
            Some(file) if !is_shut => file.write(bytes),
            _ => Err(io::Error::other("the file was completed, or the text index closed, before")),
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
    fn a_description_leaves_nothing_pending_behind_it() {
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
        assert_eq!(fs::read(folder.path().join(META)).expect("read"), b"{}");
    }

    #[test]
    fn only_files_of_unknown_segments_are_strays() {
        let folder = TempDir::new("directory");
        let (known, stray) = ("0123456789abcdef0123456789abcdef", "ffffffffffffffffffffffffffffffff");
        let names =
            [format!("{known}.store"), format!("{stray}.store"), format!("{stray}.12.del"), META.into(), "note".into()];
        names.iter().for_each(|name| fs::write(folder.path().join(name), "").expect("written"));
        let directory = TextDirectory::open(folder.path()).expect("opened");
        let left = || names.iter().filter(|name| folder.path().join(name).exists()).count();
        {
            let _writing = directory.acquire_lock(&INDEX_WRITER_LOCK).expect("free");
            directory.remove_strays(&FxHashSet::from_iter([known.to_owned()])).expect("swept");
            assert_eq!(left(), 5, "somebody is writing");
        }
        directory.remove_strays(&FxHashSet::from_iter([known.to_owned()])).expect("swept");
        assert_eq!(left(), 3);
        assert!(!folder.path().join(&names[1]).exists() && !folder.path().join(&names[2]).exists());
    }

    #[test]
    fn nothing_changes_once_the_folder_is_shut() {
        let folder = TempDir::new("directory");
        let directory = TextDirectory::open(folder.path()).expect("opened");
        directory.atomic_write(Path::new(META), b"{}").expect("committed");
        let late = directory.clone();
        directory.shut();
        assert!(late.atomic_write(Path::new(META), b"{1}").is_err());
        assert!(late.open_write(Path::new("a.store")).is_err());
        assert!(late.delete(Path::new(META)).is_err());
        assert_eq!(late.atomic_read(Path::new(META)).expect("reading goes on"), b"{}");
    }
}
