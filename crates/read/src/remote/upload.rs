//! Outputs that lie elsewhere: they appear whole.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::task::JoinHandle;

use super::Failure;
use super::address::Scheme;
use super::client::{Place, failure, runtime, wait};

/// A file of at most this many bytes is sent by one request; of larger ones, parts of this size.
const PART: u64 = 8 << 20;
/// S3 takes 10,000 parts.
const MOST_PARTS: u64 = 9_000;
/// Parts that are sent at once.
const AT_ONCE: usize = 4;

/// Refuses an output that cannot be written: before the work that would be lost.
pub fn check_output(path: &Path) -> io::Result<()> {
    let place = writable(path)?;
    // Begun, and given up: nothing is seen of it.
    let mut begun = wait(place.store.put_multipart(&place.key)).map_err(failure)?;
    wait(begun.abort()).map_err(failure)?;
    Ok(())
}

fn writable(path: &Path) -> Result<Place, Failure> {
    let place = Place::of_file(path)?;
    if place.scheme == Scheme::Http { Err(Failure::ReadOnly) } else { Ok(place) }
}

/// A file whose bytes are there, and which nobody sees before it is [completed](Self::complete). Dropped, it is
/// given up.
#[derive(Debug)]
pub struct Upload {
    place: Place,
    bytes: Sent,
}

#[derive(Debug)]
enum Sent {
    /// Little enough to be sent when it is completed.
    Small(Vec<u8>),
    Parts(Box<dyn MultipartUpload>),
    Done,
}

impl Upload {
    /// Sends all bytes of a file of this machine, which will have this name there.
    pub fn send(path: &Path, file: &File) -> io::Result<Upload> {
        let place = writable(path)?;
        let mut file = file;
        file.seek(SeekFrom::Start(0))?;
        let length = file.metadata()?.len();
        if length <= PART && place.scheme == Scheme::S3 {
            let mut bytes = Vec::with_capacity(length as usize);
            file.read_to_end(&mut bytes)?;
            return Ok(Upload { place, bytes: Sent::Small(bytes) });
        }
        let begun = wait(place.store.put_multipart(&place.key)).map_err(failure)?;
        // From here on, a failure gives it up.
        let mut upload = Upload { place, bytes: Sent::Parts(begun) };
        upload.send_parts(file, PART.max(length.div_ceil(MOST_PARTS)))?;
        Ok(upload)
    }

    fn send_parts(&mut self, mut file: &File, size: u64) -> io::Result<()> {
        let Sent::Parts(parts) = &mut self.bytes else { return Ok(()) };
        let mut on_their_way: VecDeque<JoinHandle<object_store::Result<()>>> = VecDeque::new();
        let mut sent = |one: JoinHandle<object_store::Result<()>>| match wait(one) {
            Ok(done) => done.map_err(|error| io::Error::from(failure(error))),
            Err(error) => Err(Failure::Other(error.to_string()).into()),
        };
        loop {
            let mut bytes = Vec::with_capacity(size as usize);
            file.by_ref().take(size).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                break;
            }
            on_their_way.push_back(runtime().spawn(parts.put_part(PutPayload::from(bytes))));
            if on_their_way.len() >= AT_ONCE
                && let Some(first) = on_their_way.pop_front()
            {
                sent(first)?;
            }
        }
        on_their_way.into_iter().try_for_each(&mut sent)
    }

    /// Puts the file in its place, in one step.
    pub fn complete(mut self) -> io::Result<()> {
        let done = match &mut self.bytes {
            Sent::Small(bytes) => {
                let payload = PutPayload::from(std::mem::take(bytes));
                wait(self.place.store.put(&self.place.key, payload))
            }
            Sent::Parts(parts) => wait(parts.complete()),
            Sent::Done => return Ok(()),
        };
        done.map_err(failure)?;
        self.bytes = Sent::Done;
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Sent::Parts(parts) = &mut self.bytes {
            // Where that fails, too, S3 removes what was given up in its time; HDFS keeps a hidden file.
            let _ = wait(parts.abort());
        }
    }
}
