//! A server of HTTP that can be told how to behave.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;

/// A file, and how the server gives it.
#[derive(Clone, Default)]
pub struct Served {
    pub bytes: Vec<u8>,
    /// Whether parts can be asked for.
    pub parts: bool,
    /// The status in place of it.
    pub status: Option<&'static str>,
    /// It does not say how long it is.
    pub no_length: bool,
    /// How many of the first answers are cut off, and after how many bytes.
    pub cut: Option<(usize, usize)>,
    /// After this number of answers it becomes another file.
    pub replaced_after: Option<usize>,
}

#[derive(Default)]
pub struct Server {
    files: Mutex<BTreeMap<String, (Served, usize)>>,
    pub sent: AtomicU64,
    pub requests: AtomicUsize,
    pub url: String,
}

impl Server {
    pub fn start() -> Arc<Server> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Arc::new(Server { url, ..Server::default() });
        let shared = Arc::clone(&server);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = Arc::clone(&shared);
                thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// Gives a file under this name from now on; says its URL.
    pub fn put(&self, name: &str, served: Served) -> String {
        self.files.lock().unwrap().insert(format!("/{name}"), (served, 0));
        format!("{}/{name}", self.url)
    }

    /// One request, one answer.
    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let first = lines.next()?.ok()?;
        let mut range: Option<Range<usize>> = None;
        for line in lines {
            let line = line.ok()?.to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bounds) = line.strip_prefix("range: bytes=") {
                let (from, to) = bounds.split_once('-')?;
                range = Some(from.parse().ok()?..to.parse().map_or(usize::MAX, |to: usize| to + 1));
            }
        }
        self.requests.fetch_add(1, Relaxed);
        let name = first.split(' ').nth(1)?;
        let Some((file, answers)) = self.next(name) else {
            return stream
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .ok();
        };
        let range = range.filter(|_| file.parts).map(|range| range.start..range.end.min(file.bytes.len()));
        let mut body = &file.bytes[range.clone().unwrap_or(0..file.bytes.len())];
        let status = match (file.status, &range) {
            (Some(status), _) => status,
            (None, None) => "200 OK",
            (None, Some(_)) => "206 Partial Content",
        };
        let mut head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
        if let Some(Range { start, end }) = range {
            head += &format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, file.bytes.len());
        }
        if !file.no_length {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let tag = file.replaced_after.is_some_and(|after| answers >= after);
        head += &format!("ETag: \"{tag}\"\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        if let Some((at, times)) = file.cut
            && answers < times
        {
            body = &body[..at.min(body.len())];
        }
        stream.write_all(body).ok()?;
        self.sent.fetch_add(body.len() as u64, Relaxed);
        Some(())
    }

    /// The file, and how often it was given before.
    fn next(&self, name: &str) -> Option<(Served, usize)> {
        let mut files = self.files.lock().unwrap();
        let (file, answers) = files.get_mut(name)?;
        *answers += 1;
        Some((file.clone(), *answers - 1))
    }
}
