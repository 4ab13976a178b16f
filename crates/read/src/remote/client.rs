//! The stores, and files in them as they are read.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use hdfs_native_object_store::HdfsObjectStoreBuilder;
use object_store::aws::AmazonS3Builder;
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use super::Failure;
use super::address::{Address, Scheme};
pub(crate) use super::find::find;
use super::patient::Patient;
pub use super::upload::{Upload, check_output};

/// A server that is silent for this long, or refuses for this long, is away.
const PATIENCE: Duration = Duration::from_secs(20);
const RETRIES: usize = 6;

/// The first part of a file that is asked for; the next are twice as large each, up to the largest. Many files
/// are only looked at.
const FIRST_PART: u64 = 256 << 10;
const LARGEST_PART: u64 = 8 << 20;
/// Parts that are asked for at once.
const AHEAD: usize = 4;
/// Pieces of a stream that wait to be read.
const WAITING: usize = 64;

/// The one place where something runs that is not ours to drive. It lives as long as the program.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("tamis-remote").enable_all();
        builder.build().expect("two threads can be started")
    })
}

type Store = Arc<dyn ObjectStore>;

/// A store, and the place of a file in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) key: Key,
    pub(super) scheme: Scheme,
}

impl Place {
    /// Of an address. Stores are opened once: they keep their connections.
    pub(super) fn of(address: &Address<'_>) -> Result<Place, Failure> {
        static STORES: OnceLock<Mutex<HashMap<String, Store>>> = OnceLock::new();
        // A URL of HTTP is taken as it stands: what it asks for belongs to it.
        let (name, key) = match address.scheme {
            Scheme::Http => (address.text, Key::default()),
            _ => (address.store, Key::parse(address.key).map_err(|_| Failure::Name)?),
        };
        let mut stores = STORES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let store = match stores.get(name) {
            Some(store) => Arc::clone(store),
            None => {
                let store = open_store(address)?;
                stores.insert(name.to_owned(), Arc::clone(&store));
                store
            }
        };
        Ok(Place { store, key, scheme: address.scheme })
    }

    pub(super) fn of_file(path: &Path) -> Result<Place, Failure> {
        Place::of(&Address::of_file(path)?)
    }

    /// What is known of the file.
    pub(super) async fn look(&self) -> Result<ObjectMeta, Failure> {
        // Whoever may read a file may not always ask about it (links that were signed are for reading).
        let asked = match self.scheme {
            Scheme::Http => GetOptions::default(),
            _ => GetOptions { head: true, ..GetOptions::default() },
        };
        match self.store.get_opts(&self.key, asked).await {
            Ok(found) => Ok(found.meta),
            // The answer to such a question has no text. That to another one says who is refused.
            Err(error) if matches!(self.scheme, Scheme::S3) => {
                Err(match self.store.get_opts(&self.key, GetOptions::default()).await {
                    Err(again) => failure(again),
                    Ok(_) => failure(error),
                })
            }
            Err(error) => Err(failure(error)),
        }
    }
}

fn open_store(address: &Address<'_>) -> Result<Store, Failure> {
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(4),
            base: 2.0,
        },
        max_retries: RETRIES,
        retry_timeout: PATIENCE,
    };
    let client = ClientOptions::new()
        .with_timeout_disabled() // of all that is read, which may take hours
        .with_connect_timeout(Duration::from_secs(5))
        .with_read_timeout(PATIENCE)
        .with_allow_http(true);
    let wrong = |error: object_store::Error| Failure::Settings(last(&error));
    let store: Store = match address.scheme {
        Scheme::S3 => {
            let settings = AmazonS3Builder::from_env().with_bucket_name(address.host);
            Arc::new(settings.with_client_options(client).with_retry(retry).build().map_err(wrong)?)
        }
        Scheme::Http => {
            let settings = HttpBuilder::new().with_url(address.text);
            Arc::new(settings.with_client_options(client).with_retry(retry).build().map_err(wrong)?)
        }
        Scheme::Hdfs => {
            // A NameNode that refuses is asked again for about as long as others; by itself, for minutes.
            let patience =
                [("max.attempts", "7"), ("sleep.base.millis", "500"), ("sleep.max.millis", "4000")]
                    .map(|(name, value)| (format!("dfs.client.failover.{name}"), value));
            let builder = HdfsObjectStoreBuilder::new()
                .with_config(patience)
                .with_io_runtime(runtime().handle().clone());
            let builder = match address.host {
                "" => builder, // of Hadoop's settings
                _ => builder.with_url(address.store),
            };
            Arc::new(Patient(builder.build().map_err(wrong)?))
        }
    };
    Ok(store)
}

/// A file that was looked at.
#[derive(Debug)]
pub(crate) struct Object {
    place: Place,
    meta: ObjectMeta,
    /// Whether the server was asked for a part, and gives none; then a copy of all of it is read.
    no_parts: AtomicBool,
    copy: Mutex<Option<File>>,
}

impl Object {
    /// Looks at the file of this name.
    pub(crate) fn look(path: &Path) -> io::Result<Object> {
        let place = Place::of_file(path)?;
        let meta = wait(place.look())?;
        Ok(Object { place, meta, no_parts: AtomicBool::new(false), copy: Mutex::default() })
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.meta.size
    }

    /// Its bytes from this place on, of which parts are on their way before they are asked for.
    pub(crate) fn read(&self, from: u64) -> Box<dyn Read + Send> {
        self.read_ahead(from, AHEAD)
    }

    /// Its bytes from the beginning, of which few will be asked for.
    pub(crate) fn begin(&self) -> Box<dyn Read + Send> {
        self.read_ahead(0, 1)
    }

    fn read_ahead(&self, from: u64, ahead: usize) -> Box<dyn Read + Send> {
        let known = Known { place: self.place.clone(), meta: self.meta.clone() };
        let pieces = match self.place.scheme {
            // One answer: not every server gives parts, and none likes many questions.
            Scheme::Http => {
                let (to, pieces) = mpsc::channel(WAITING);
                runtime().spawn(async move { known.send_stream(from, &to).await });
                pieces
            }
            Scheme::S3 | Scheme::Hdfs => {
                let (to, pieces) = mpsc::channel(1);
                runtime().spawn(async move { known.send_parts(from, ahead, &to).await });
                pieces
            }
        };
        Box::new(Coming { pieces, now: Bytes::new(), left: self.meta.size.saturating_sub(from) })
    }

    /// These bytes of it, which it must have.
    pub(crate) fn part(&self, from: u64, length: usize) -> io::Result<Bytes> {
        if !self.no_parts.load(Relaxed) {
            let known = Known { place: self.place.clone(), meta: self.meta.clone() };
            match wait(known.part(from, from + length as u64)) {
                Err(Failure::NoParts) => self.no_parts.store(true, Relaxed),
                part => return Ok(part?),
            }
        }
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *copy {
            Some(file) => file,
            none => {
                let mut file = tempfile::tempfile()?;
                io::copy(&mut self.read(0), &mut file)?;
                none.insert(file)
            }
        };
        let mut part = vec![0; length];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut part)?;
        Ok(part.into())
    }
}

/// A file that must be what it was.
struct Known {
    place: Place,
    meta: ObjectMeta,
}

type Piece = Result<Bytes, Failure>;

impl Known {
    async fn get(&self, range: Option<GetRange>) -> Result<GetResult, Failure> {
        let options = GetOptions { range, ..GetOptions::default() };
        let got = self.place.store.get_opts(&self.place.key, options).await.map_err(failure)?;
        let same = |one: &ObjectMeta, other: &ObjectMeta| {
            one.e_tag == other.e_tag && one.size == other.size && one.last_modified == other.last_modified
        };
        if same(&got.meta, &self.meta) { Ok(got) } else { Err(Failure::Changed) }
    }

    async fn part(&self, from: u64, to: u64) -> Piece {
        if from >= to {
            return Ok(Bytes::new());
        }
        self.get(Some(GetRange::Bounded(from..to))).await?.bytes().await.map_err(failure)
    }

    /// Parts of growing size, some at once, in their order.
    async fn send_parts(&self, from: u64, ahead: usize, to: &mpsc::Sender<Piece>) {
        let (end, mut at, mut size) = (self.meta.size, from, FIRST_PART);
        let ranges = std::iter::from_fn(|| {
            let range = (at < end).then(|| (at, end.min(at + size)))?;
            (at, size) = (range.1, LARGEST_PART.min(2 * size));
            Some(range)
        });
        let mut parts =
            futures_util::stream::iter(ranges).map(|(from, to)| self.part(from, to)).buffered(ahead);
        while let Some(part) = parts.next().await {
            let failed = part.is_err();
            if to.send(part).await.is_err() || failed {
                return; // nobody reads on
            }
        }
    }

    async fn send_stream(&self, from: u64, to: &mpsc::Sender<Piece>) {
        let range = (from > 0).then_some(GetRange::Offset(from));
        let mut pieces = match self.get(range).await {
            Ok(got) => got.into_stream(),
            Err(failed) => {
                let _ = to.send(Err(failed)).await;
                return;
            }
        };
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(failure);
            let failed = piece.is_err();
            if to.send(piece).await.is_err() || failed {
                return;
            }
        }
    }
}

/// Bytes that come.
struct Coming {
    pieces: mpsc::Receiver<Piece>,
    now: Bytes,
    /// Bytes that must still come.
    left: u64,
}

impl Read for Coming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.now.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.now = piece?,
                None if self.left == 0 => return Ok(0),
                None => return Err(Failure::Away("it ended too early".into()).into()),
            }
        }
        let len = buffer.len().min(self.now.len());
        self.now.copy_to_slice(&mut buffer[..len]);
        self.left = self.left.saturating_sub(len as u64);
        Ok(len)
    }
}

/// What went wrong, in words.
pub(super) fn failure(error: object_store::Error) -> Failure {
    use object_store::Error as E;
    let said = error.to_string();
    let code = between(&said, "<Code>", "</Code>");
    match error {
        _ if code == Some("NoSuchBucket") => Failure::NoBucket,
        E::NotFound { .. } => Failure::Absent,
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            Failure::Denied(code.map_or_else(|| last(&error), str::to_owned))
        }
        E::Precondition { .. } | E::NotModified { .. } => Failure::Changed,
        E::NotSupported { .. } if said.contains("ange") => Failure::NoParts,
        E::InvalidPath { .. } => Failure::Name,
        _ if said.contains("Content-Length") => Failure::NoLength,
        _ if said.contains("credential") || said.contains("169.254.") => Failure::Settings(format!(
            "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for \
             what everybody may read ({})",
            last(&error)
        )),
        _ => match (code, Failure::of_namenode(&last(&error))) {
            (Some(code), _) => Failure::Other(format!("the server answers {code}")),
            (None, Some(answer)) => answer,
            (None, None) => Failure::Away(last(&error)),
        },
    }
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

/// The innermost reason, in one line.
fn last(error: &dyn Error) -> String {
    let mut reason = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    let text = reason.to_string();
    let line = text.lines().next().unwrap_or_default().trim();
    line.chars().take(300).collect()
}
