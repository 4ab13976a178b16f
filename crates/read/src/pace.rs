//! Streams that may come slowly: bytes, and whether there are any just now.

use std::fs::File;
#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::reader::Bytes;

/// A stream, with its pace where that can be told.
pub struct Flow {
    pub(super) bytes: Bytes,
    pub(super) pace: Option<Pace>,
}

/// Tells whether a stream has something to read just now.
#[derive(Clone)]
pub(super) struct Pace {
    ready: Arc<dyn Fn(Duration) -> bool + Send + Sync>,
    /// Bytes that were looked at to recognise the input, and are to be read again.
    again: Arc<AtomicUsize>,
}

impl Flow {
    /// A stream that tells by a function whether a read returns now, or within a time.
    pub fn new(
        bytes: impl Read + Send + 'static,
        ready: impl Fn(Duration) -> bool + Send + Sync + 'static,
    ) -> Flow {
        let pace = Pace { ready: Arc::new(ready), again: Arc::default() };
        Flow { bytes: Box::new(bytes), pace: Some(pace) }
    }

    /// Its next bytes if there are any within this time; none at its end.
    pub fn read_within(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<Option<usize>> {
        match &self.pace {
            Some(pace) if !pace.ready(patience) => Ok(None),
            _ => self.bytes.read(buffer).map(Some),
        }
    }

    /// Whether standard input was redirected from a regular file.
    pub fn stdin_is_a_file() -> bool {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            file.and_then(|file| file.metadata()).is_ok_and(|file| file.is_file())
        }
        #[cfg(not(unix))]
        false
    }

    /// Standard input, read at its own pace.
    pub fn stdin() -> Flow {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            // Without the buffer of the standard library, which no poll would see.
            if let Ok(descriptor) = io::stdin().as_fd().try_clone_to_owned() {
                return Flow::of(File::from(descriptor));
            }
        }
        Flow { bytes: Box::new(io::stdin()), pace: None }
    }

    /// A file that is no regular one, by its name. A pipe is open at once, and nothing is ready until its first
    /// writer comes: nobody could be told to stop while the system waits for that.
    pub fn open(path: &Path) -> io::Result<Flow> {
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

            use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
            let at_once = OFlags::NONBLOCK;
            let file = OpenOptions::new().read(true).custom_flags(at_once.bits() as i32).open(path)?;
            fcntl_setfl(&file, fcntl_getfl(&file)? - at_once)?;
            let is_pipe = file.metadata()?.file_type().is_fifo();
            let mut flow = Flow::of(file);
            if let Some(pace) = flow.pace.clone().filter(|_| is_pipe) {
                // What has had no writer yet looks as if it had ended to one who reads.
                flow.bytes = Box::new(Awaited { bytes: flow.bytes, pace: Some(pace) });
            }
            Ok(flow)
        }
        #[cfg(not(target_os = "linux"))]
        File::open(path).map(Flow::of)
    }

    /// A file that is no regular one: a pipe, a terminal, a socket.
    pub fn of(file: File) -> Flow {
        #[cfg(unix)]
        {
            widen(&file);
            let file = Arc::new(file);
            let polled = Arc::clone(&file);
            let ready = Arc::new(move |patience| has_something(&polled, patience));
            let pace = Pace { ready, again: Arc::default() };
            Flow { bytes: Box::new(Shared(file)), pace: Some(pace) }
        }
        #[cfg(not(unix))]
        Flow { bytes: Box::new(file), pace: None }
    }
}

/// For streams of which nothing is known but their bytes.
impl From<Bytes> for Flow {
    fn from(bytes: Bytes) -> Flow {
        Flow { bytes, pace: None }
    }
}

impl Pace {
    /// One that is told by a function; for tests.
    #[cfg(test)]
    pub(super) fn told_by(ready: impl Fn(Duration) -> bool + Send + Sync + 'static) -> Pace {
        Pace { ready: Arc::new(ready), again: Arc::default() }
    }

    /// Whether there is something to read (or the end) now, or within this time.
    pub(super) fn ready(&self, patience: Duration) -> bool {
        self.again.load(Relaxed) > 0 || (self.ready)(patience)
    }

    /// These bytes, to be read again before the rest of the stream.
    pub(super) fn again(&self, bytes: Vec<u8>) -> impl Read + Send + use<> {
        self.again.store(bytes.len(), Relaxed);
        Again { bytes: io::Cursor::new(bytes), left: Arc::clone(&self.again) }
    }
}

struct Again {
    bytes: io::Cursor<Vec<u8>>,
    left: Arc<AtomicUsize>,
}

impl Read for Again {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.bytes.read(buffer)?;
        self.left.fetch_sub(len, Relaxed);
        Ok(len)
    }
}

/// Bytes that are not asked for before there are any.
#[cfg(target_os = "linux")]
struct Awaited {
    bytes: Bytes,
    /// Until then.
    pace: Option<Pace>,
}

#[cfg(target_os = "linux")]
impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(pace) = self.pace.take() {
            while !pace.ready(Duration::from_secs(1)) {}
        }
        self.bytes.read(buffer)
    }
}

#[cfg(unix)]
struct Shared(Arc<File>);

#[cfg(unix)]
impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

/// Whether a read returns at once. An error is one that the read will tell.
#[cfg(unix)]
fn has_something(file: &File, patience: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let timeout = Timespec { tv_sec: patience.as_secs() as _, tv_nsec: patience.subsec_nanos() as _ };
    let mut asked = [PollFd::new(file, PollFlags::IN)];
    match poll(&mut asked, Some(&timeout)) {
        Ok(count) => count > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

/// Gives a pipe a larger buffer: its two ends then take turns less often. What is no pipe, or may
/// not grow, stays as it is.
#[cfg(unix)]
pub fn widen(file: &File) {
    #[cfg(target_os = "linux")]
    {
        use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
        const WIDE: usize = 1 << 20;
        if fcntl_getpipe_size(file).is_ok_and(|size| size < WIDE) {
            let _ = fcntl_setpipe_size(file, WIDE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}
