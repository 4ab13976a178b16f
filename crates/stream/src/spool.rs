//! What came from a source that cannot be read again, written down until it is committed.
//!
//! The bytes stand in segments: files whose names tell the offset at which they begin. Those that
//! lie before the committed place are removed. Bytes that the system has are not lost when the
//! process is killed; they are synced when the state is, and before a next segment begins. So when
//! the machine itself fails, what is lost is the end of the text and not a part within it.
//!
//! Bytes are written down as they come, and the last row may lack its end. Where the same pipe is read
//! again, that row goes on; otherwise nobody has its rest, and it is left out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use memchr::memrchr;
use tamis_make::files;
use tamis_read::error::{Error, Result};

use super::refusal::CannotResume;

/// A segment is ended when it is this long, or when it is synced and has this much.
const SEGMENT: u64 = 64 << 20;
const SYNCED_SEGMENT: u64 = 1 << 20;

/// Where the bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// From peers, who are others in every run.
    Peers,
    /// From a pipe, which another run may have read before: by what it is known, if by anything.
    Pipe(Option<String>),
}

/// The segments of one source.
#[derive(Debug)]
pub(super) struct Spool {
    folder: PathBuf,
    prefix: String,
    /// Where segments begin, and what is open of the last one.
    starts: Vec<u64>,
    last: Option<File>,
    end: u64,
    /// Segments that were written to since the last sync.
    unsynced: Vec<u64>,
    /// The pipe that is to be noted before anything of it is written down.
    pipe: Option<String>,
    /// Bytes of a row without an end that were left out.
    left_out: u64,
}

impl Spool {
    /// That of a source in this folder, as far as it came; all before this offset is committed.
    pub(super) fn open(folder: &Path, source: &str, committed: u64, origin: Origin) -> Result<Spool> {
        let prefix = format!("spool-{source}-");
        let mut starts = Vec::new();
        for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
            let name = entry.map_err(Error::io(folder))?.file_name();
            let offset = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            starts.extend(offset.and_then(|offset| offset.parse::<u64>().ok()));
        }
        starts.sort_unstable();
        let (folder, unsynced) = (folder.to_owned(), Vec::new());
        let (pipe, left_out) = (None, 0);
        let mut spool =
            Spool { folder, prefix, starts, last: None, end: committed, unsynced, pipe, left_out };
        spool.check(committed)?;
        if !spool.goes_on(origin)? {
            spool.leave_out_unfinished()?;
        }
        spool.unsynced.clone_from(&spool.starts);
        Ok(spool)
    }

    /// The file that says which pipe was read.
    fn pipe_path(&self) -> PathBuf {
        let source = self.prefix.trim_start_matches("spool-").trim_end_matches('-');
        self.folder.join(format!("pipe-{source}"))
    }

    /// Whether what comes now follows what came last; the pipe is noted otherwise.
    fn goes_on(&mut self, origin: Origin) -> Result<bool> {
        let Origin::Pipe(Some(pipe)) = origin else { return Ok(false) };
        let path = self.pipe_path();
        let goes_on = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            read => read.map_err(Error::io(&path))? == pipe.as_bytes(),
        };
        self.pipe = (!goes_on).then_some(pipe);
        Ok(goes_on)
    }

    /// Cuts off a row without an end.
    fn leave_out_unfinished(&mut self) -> Result<()> {
        let Some(&start) = self.starts.last() else { return Ok(()) };
        let (path, end) = (self.path(start), self.end);
        self.end = start + whole_lines(&path, end - start).map_err(Error::io(&path))?;
        self.left_out = end - self.end;
        Ok(())
    }

    /// Bytes of a row that an earlier run wrote down without its end, and that were left out.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// That the segments follow each other from the committed place on.
    fn check(&mut self, committed: u64) -> Result<()> {
        // Removed before, or about to be, when the machine failed.
        let done = self.starts.iter().skip(1).take_while(|start| **start <= committed).count();
        for start in self.starts.drain(..done).collect::<Vec<_>>() {
            let path = self.path(start);
            fs::remove_file(&path).map_err(Error::io(&path))?;
        }
        let mut kept = 0;
        for (i, &start) in self.starts.iter().enumerate() {
            let missing = if i == 0 { start > self.end } else { start != self.end };
            if missing && self.end >= committed && i > 0 {
                break;
            }
            let path = self.path(start);
            if missing {
                return Err(Error::input(path, CannotResume::SpoolGap(self.end)));
            }
            let length = fs::metadata(&path).map_err(Error::io(&path))?.len();
            // What stands beyond the beginning of the next was cut off, and the cut was lost.
            let most = self.starts.get(i + 1).map_or(u64::MAX, |next| next - start);
            self.end = start + length.min(most);
            kept = i + 1;
        }
        // Beyond a gap nothing is committed, and what follows it cannot be used without it.
        let beyond = self.starts.split_off(kept);
        for start in &beyond {
            let path = self.path(*start);
            fs::remove_file(&path).map_err(Error::io(&path))?;
        }
        if !beyond.is_empty() {
            files::sync_folder(&self.folder)?; // or they might follow what comes now
        }
        Ok(())
    }

    fn path(&self, start: u64) -> PathBuf {
        self.folder.join(format!("{}{start:020}", self.prefix))
    }

    /// The offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// What was written from this offset on.
    pub(super) fn read_from(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        let mut all: Box<dyn Read + Send> = Box::new(io::empty());
        if offset > self.end || self.starts.first().is_none_or(|first| *first > offset) {
            if offset == self.end && self.starts.is_empty() {
                return Ok(all);
            }
            let path = self.folder.join(format!("{}…", self.prefix));
            return Err(Error::input(path, CannotResume::SpoolGone(offset)));
        }
        for (i, &start) in self.starts.iter().enumerate() {
            let end = self.starts.get(i + 1).copied().unwrap_or(self.end);
            if end <= offset {
                continue;
            }
            let path = self.path(start);
            let open = || -> io::Result<_> {
                let mut file = File::open(&path)?;
                file.seek(SeekFrom::Start(offset.saturating_sub(start)))?;
                Ok(file.take(end - start.max(offset)))
            };
            all = Box::new(all.chain(open().map_err(Error::io(&path))?));
        }
        Ok(all)
    }

    /// Writes bytes down.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wrap = |error: io::Error| {
            io::Error::new(error.kind(), format!("it cannot be copied to the state folder ({error})"))
        };
        if let Some(pipe) = &self.pipe {
            let noted = files::write_whole(&self.pipe_path(), |out| out.write_all(pipe.as_bytes()));
            noted.map_err(|error| wrap(io::Error::other(error)))?;
            self.pipe = None;
        }
        let begun = self.starts.last().copied().filter(|start| self.end - start < SEGMENT);
        let start = begun.filter(|_| self.last.is_some()).unwrap_or(self.end);
        if self.last.is_none() || begun != Some(start) {
            self.sync_segments().map_err(|(_, error)| wrap(error))?;
            let path = self.path(start);
            let file = OpenOptions::new().create(true).append(true).open(path).map_err(wrap)?;
            self.last = Some(file);
            self.starts.retain(|other| *other != start);
            self.starts.push(start);
        }
        if self.unsynced.last() != Some(&start) {
            self.unsynced.push(start);
        }
        let Some(file) = &mut self.last else { return Ok(()) };
        file.write_all(bytes).map_err(wrap)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Makes sure that all of it is on disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.sync_segments().map_err(|(path, source)| Error::Io { path, source })?;
        files::sync_folder(&self.folder)?;
        if self.starts.last().is_some_and(|start| self.end - start >= SYNCED_SEGMENT) {
            self.last = None; // so that it can be removed before it is full
        }
        Ok(())
    }

    fn sync_segments(&mut self) -> std::result::Result<(), (PathBuf, io::Error)> {
        while let Some(&start) = self.unsynced.first() {
            let path = self.path(start);
            File::open(&path).and_then(|file| file.sync_data()).map_err(|error| (path, error))?;
            self.unsynced.remove(0);
        }
        Ok(())
    }

    /// Removes the segments that end before this offset or at it.
    pub(super) fn forget(&mut self, offset: u64) -> Result<()> {
        while let [first, next @ ..] = &self.starts[..] {
            let start = *first;
            let end = next.first().copied().unwrap_or(self.end);
            let in_use = next.is_empty() && self.last.is_some();
            if end > offset || in_use {
                break;
            }
            let path = self.path(start);
            fs::remove_file(&path).map_err(Error::io(&path))?;
            self.starts.remove(0);
            self.unsynced.retain(|other| *other != start);
        }
        Ok(())
    }
}

/// Cuts a file, of which this much counts, after its last line end; its length then.
fn whole_lines(path: &Path, length: u64) -> io::Result<u64> {
    const LOOK: u64 = 64 << 10;
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut end = length;
    while end > 0 {
        let from = end.saturating_sub(LOOK);
        let mut bytes = vec![0; (end - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut bytes)?;
        if let Some(at) = memrchr(b'\n', &bytes) {
            end = from + at as u64 + 1;
            break;
        }
        end = from;
    }
    if end < file.metadata()?.len() {
        file.set_len(end)?;
        file.sync_data()?; // or what is cut off might stand before a next segment again
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spool: &Spool, from: u64) -> String {
        let mut text = String::new();
        spool.read_from(from).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn what_was_written_comes_again_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), "train", 0, Origin::Peers).unwrap();
        assert_eq!((spool.end(), text(&spool, 0)), (0, String::new()));
        spool.append(b"one\n").unwrap();
        spool.append(b"two\n").unwrap();
        assert_eq!((text(&spool, 0).as_str(), text(&spool, 4).as_str()), ("one\ntwo\n", "two\n"));
        // A run that was killed while it wrote leaves half a line.
        spool.append(b"thr").unwrap();
        let mut spool = Spool::open(folder.path(), "train", 0, Origin::Peers).unwrap();
        assert_eq!((spool.end(), text(&spool, 4).as_str()), (8, "two\n"));
        spool.append(b"three\n").unwrap();
        assert_eq!(text(&spool, 0), "one\ntwo\nthree\n");
        spool.sync().unwrap();
        spool.forget(8).unwrap();
        assert_eq!(text(&spool, 8), "three\n");
        assert!(spool.read_from(0).is_err() && spool.read_from(100).is_err());
        // Another source has its own.
        assert_eq!(Spool::open(folder.path(), "query", 0, Origin::Peers).unwrap().end(), 0);
    }

    #[test]
    fn a_row_goes_on_where_the_same_pipe_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let open = |pipe: &str| {
            Spool::open(folder.path(), "train", 0, Origin::Pipe((!pipe.is_empty()).then(|| pipe.into())))
        };
        let mut spool = open("one").unwrap();
        spool.append(b"x\nhal").unwrap();
        let mut spool = open("one").unwrap();
        assert_eq!((spool.left_out(), text(&spool, 0).as_str()), (0, "x\nhal"));
        spool.append(b"f\ny").unwrap();
        assert_eq!(text(&open("one").unwrap(), 0), "x\nhalf\ny");
        // Another pipe begins with a row.
        let mut spool = open("two").unwrap();
        assert_eq!((spool.left_out(), text(&spool, 0).as_str()), (1, "x\nhalf\n"));
        spool.append(b"z").unwrap();
        assert_eq!(text(&open("two").unwrap(), 0), "x\nhalf\nz");
        assert_eq!(open("").unwrap().left_out(), 1);
    }

    #[test]
    fn what_is_committed_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let mut spool = Spool::open(folder.path(), "train", 0, Origin::Peers).unwrap();
        let line = vec![b'\n'; SYNCED_SEGMENT as usize];
        for round in 1..=3 {
            spool.append(&line).unwrap();
            spool.sync().unwrap();
            assert_eq!(files(), 1);
            spool.forget(round * SYNCED_SEGMENT - 1).unwrap();
            assert_eq!(files(), 1);
            spool.forget(round * SYNCED_SEGMENT).unwrap();
            assert_eq!(files(), 0);
        }
        let open = |committed| Spool::open(folder.path(), "train", committed, Origin::Peers);
        assert_eq!(open(3 * SYNCED_SEGMENT).unwrap().end(), 3 * SYNCED_SEGMENT);
        spool.append(b"x\n").unwrap();
        assert_eq!(open(3 * SYNCED_SEGMENT).unwrap().end(), 3 * SYNCED_SEGMENT + 2);
        assert!(open(0).unwrap_err().to_string().contains("missing"));
    }

    /// Segments as they are after the machine failed; what is read then.
    fn left(segments: &[(u64, &str)], committed: u64) -> Result<(String, usize)> {
        let folder = tempfile::tempdir().unwrap();
        for (start, text) in segments {
            fs::write(folder.path().join(format!("spool-train-{start:020}")), text).unwrap();
        }
        let mut spool = Spool::open(folder.path(), "train", committed, Origin::Peers)?;
        let found = text(&spool, committed);
        assert_eq!(spool.end(), committed + found.len() as u64);
        let segments = fs::read_dir(folder.path()).unwrap().count();
        // What comes now follows, also after another end.
        spool.append(b"new\n").unwrap();
        let spool = Spool::open(folder.path(), "train", committed, Origin::Peers)?;
        assert_eq!(text(&spool, committed), format!("{found}new\n"));
        Ok((found, segments))
    }

    #[test]
    fn a_half_line_that_was_cut_off_and_is_there_again_counts_no_more() {
        let (found, _) = left(&[(0, "one\ntw"), (4, "two\n"), (8, "three\nfo")], 0).unwrap();
        assert_eq!(found, "one\ntwo\nthree\n");
    }

    #[test]
    fn what_follows_a_gap_is_left_out_where_none_of_it_is_committed() {
        let lost_end = [(0, "one\nt"), (8, "three\n"), (14, "four\n")];
        for committed in [0, 4] {
            let (found, segments) = left(&lost_end, committed).unwrap();
            assert_eq!((found.as_str(), segments), (&"one\n"[committed as usize..], 1));
        }
        let refused = |committed| left(&lost_end, committed).unwrap_err().to_string();
        assert!(refused(6).contains("missing"), "{}", refused(6));
        // A gap before the committed part does not matter.
        assert_eq!(left(&lost_end, 8).unwrap(), ("three\nfour\n".into(), 2));
        assert_eq!(left(&[(0, "one\n"), (8, "three\n")], 10).unwrap(), ("ree\n".into(), 1));
    }

    #[test]
    fn a_segment_is_synced_before_the_next_begins() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(folder.path(), "train", 0, Origin::Peers).unwrap();
        spool.append(b"x\n").unwrap();
        // Nearly full, without the bytes.
        let first = OpenOptions::new().write(true).open(spool.path(0)).unwrap();
        first.set_len(SEGMENT - 1).unwrap();
        spool.end = SEGMENT - 1;
        spool.append(b"\n").unwrap();
        assert_eq!((&spool.unsynced[..], spool.end), (&[0][..], SEGMENT));
        spool.append(b"x\n").unwrap();
        assert_eq!((&spool.unsynced[..], &spool.starts[..]), (&[SEGMENT][..], &[0, SEGMENT][..]));
        // The last one of a run that was killed, too.
        let mut spool = Spool::open(folder.path(), "train", 0, Origin::Peers).unwrap();
        assert_eq!(spool.unsynced, [0, SEGMENT]);
        spool.append(b"y\n").unwrap();
        assert_eq!(spool.unsynced, [SEGMENT + 2]);
    }
}
