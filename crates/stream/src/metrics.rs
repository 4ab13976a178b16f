//! Metrics in the text format of Prometheus, served over HTTP. What is asked does not matter: all get the
//! same. Several may ask at once, and none keeps the others waiting.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tamis_read::error::{Error, Result};

use super::learned::Fill;
use super::net::{is_for_now, poll};
use super::role::{ByRole, Role};
use super::watch::{Lag, Status, Watch, Windowed};
use super::window::Judged;

/// A request that is longer, or slower, gets no answer.
const LONGEST_REQUEST: usize = 8 << 10;
const PATIENCE: Duration = Duration::from_secs(2);

/// Those who ask at once; for one more, the one that has waited longest is left.
const MOST: usize = 64;

/// How often is looked whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The place at which metrics are asked for.
#[derive(Debug)]
pub struct Door(TcpListener);

impl Door {
    /// Listens at this address (`127.0.0.1:9100`).
    pub fn open(address: &str) -> Result<Door> {
        let open = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(Door(listener))
        };
        open().map_err(Error::io(format!("metrics at {address}")))
    }

    /// Answers until it is told to end.
    pub fn serve(&self, watch: &Watch, end: &AtomicBool) {
        let mut open: Vec<Asking> = Vec::new();
        while !end.load(Relaxed) {
            // A bad request or a closed connection must not stop the run.
            let peers: Vec<_> = open.iter().map(|asking| &asking.peer).collect();
            if poll(Some(&self.0), &peers, LOOK).is_err() {
                thread::sleep(LOOK);
            }
            match self.0.accept() {
                Ok((peer, _)) => {
                    if open.len() == MOST {
                        open.remove(0); // who has waited longest
                    }
                    open.extend(Asking::new(peer).ok());
                }
                Err(error) if is_for_now(&error) => {}
                Err(_) => thread::sleep(LOOK),
            }
            open.retain_mut(|asking| matches!(asking.go_on(watch), Ok(Goes::On)));
        }
    }
}

/// Whether there is more to do for a peer.
enum Goes {
    On,
    Done,
}

/// A peer that asks, and has a moment for all that it asks and takes, however it divides it.
struct Asking {
    peer: TcpStream,
    request: Vec<u8>,
    /// What it gets, once it has asked, and how much of it is gone.
    answer: Option<Vec<u8>>,
    written: usize,
    deadline: Instant,
}

impl Asking {
    fn new(peer: TcpStream) -> io::Result<Asking> {
        peer.set_nonblocking(true)?;
        let deadline = Instant::now() + PATIENCE;
        Ok(Asking { peer, request: Vec::new(), answer: None, written: 0, deadline })
    }

    /// Does what can be done now.
    fn go_on(&mut self, watch: &Watch) -> io::Result<Goes> {
        if Instant::now() >= self.deadline {
            return Ok(Goes::Done);
        }
        match self.talk(watch) {
            Err(error) if is_for_now(&error) => Ok(Goes::On),
            done => done.map(|()| Goes::Done),
        }
    }

    /// Reads the request, then writes the answer; an error where that cannot be now.
    fn talk(&mut self, watch: &Watch) -> io::Result<()> {
        let mut bytes = [0; 1024];
        while self.answer.is_none() {
            let len = self.peer.read(&mut bytes)?;
            self.request.extend_from_slice(&bytes[..len]);
            if self.request.windows(4).any(|end| end == b"\r\n\r\n") {
                self.answer = Some(answer(watch));
            } else if len == 0 || self.request.len() > LONGEST_REQUEST {
                return Ok(());
            }
        }
        let answer = self.answer.as_deref().unwrap_or_default();
        while self.written < answer.len() {
            self.written += match self.peer.write(&answer[self.written..])? {
                0 => return Ok(()),
                len => len,
            };
        }
        Ok(())
    }
}

fn answer(watch: &Watch) -> Vec<u8> {
    let body = text(&watch.status());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// The metrics of a run.
pub fn text(status: &Status) -> String {
    let mut page = Page::default();
    page.counts(status);
    page.fill(status.fill.as_ref());
    page.lag(&status.lag);
    if let Some(window) = &status.window {
        page.window(window);
    }
    let age = status.committed.map(|at| at.elapsed().as_secs_f64());
    page.gauge("last_commit_age_seconds", "How old the last commit is.", age);
    page.0
}

/// Metrics in the text format of Prometheus. What is not known is left out.
#[derive(Default)]
struct Page(String);

impl Page {
    fn metric(&mut self, name: &str, kind: &str, help: &str, values: &[(&str, Option<f64>)]) {
        if values.iter().all(|(_, value)| value.is_none()) {
            return;
        }
        let _ = writeln!(self.0, "# HELP tamis_stream_{name} {help}\n# TYPE tamis_stream_{name} {kind}");
        for (label, value) in values {
            if let Some(value) = value {
                let _ = writeln!(self.0, "tamis_stream_{name}{label} {value}");
            }
        }
    }

    fn count(&mut self, name: &str, help: &str, count: u64) {
        self.metric(name, "counter", help, &[("", Some(count as f64))]);
    }

    fn gauge(&mut self, name: &str, help: &str, value: Option<f64>) {
        self.metric(name, "gauge", help, &[("", value)]);
    }

    fn counts(&mut self, status: &Status) {
        self.count("rows_trained_total", "Rows of the training stream.", status.rows);
        self.count("queries_total", "Queries.", status.queries);
        self.count("distinct_queries_total", "Queries, each once in its batch.", status.distinct);
        self.count("answers_total", "Lines of answers.", status.answers);
        self.count("bad_rows_total", "Rows and queries skipped.", status.skipped);
        self.count("rows_removed_total", "Rows removed.", status.removed);
        self.count("missing_removals_total", "Rows to be removed that were not there.", status.missing);
        self.count("batches_total", "Batches.", status.batches);
        self.count("enlarged_total", "How often filters were made larger.", status.enlarged);
        self.count("commits_total", "Commits of the state.", status.commits);
    }

    fn fill(&mut self, fill: Option<&Fill>) {
        let known = |number: f64| (!number.is_nan()).then_some(number);
        let share = "The share of bits that is set, or of counters that are not zero.";
        self.gauge("fill_ratio", share, fill.map(|fill| fill.fill));
        let rate = fill.and_then(|fill| known(fill.rate));
        self.gauge("expected_false_positive_rate", "The rate expected now.", rate);
        self.gauge("keys", "Distinct keys, estimated.", fill.and_then(|fill| known(fill.keys)));
    }

    fn lag(&mut self, lag: &ByRole<Option<Lag>>) {
        let labels = ByRole::of(|role| format!("{{stream=\"{}\"}}", role.name()));
        let values = |of: fn(Lag) -> Option<u64>| {
            Role::ALL.map(|role| (labels[role].as_str(), lag[role].and_then(of).map(|lag| lag as f64)))
        };
        let bytes = "Bytes of a stream that wait to be read.";
        self.metric("lag_bytes", "gauge", bytes, &values(Lag::bytes));
        let messages = "Messages of a topic that wait to be read.";
        self.metric("lag_messages", "gauge", messages, &values(Lag::messages));
    }

    fn window(&mut self, window: &Windowed) {
        let seconds = |millis: Option<i64>| millis.map(|millis| millis as f64 / 1000.0);
        self.gauge("window_seconds", "The length of the window.", Some(window.length.as_secs_f64()));
        self.gauge("window_panes", "Live panes that have rows.", Some(window.panes as f64));
        let begin = "When the oldest live pane begins, since 1970.";
        self.gauge("window_begin_seconds", begin, seconds(window.begin));
        self.gauge("window_newest_seconds", "The newest time seen, since 1970.", seconds(window.newest));
        if let Some(Judged { late, expired, ahead }) = window.judged {
            let behind = "Rows behind the newest time by more than the lateness.";
            self.count("late_rows_total", behind, late);
            self.count("expired_rows_total", "Rows skipped: older than the window.", expired);
            self.count("ahead_rows_total", "Rows skipped: dated too far after the clock.", ahead);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};

    fn ask(address: &str, request: &[u8]) -> String {
        let mut peer = TcpStream::connect(address).unwrap();
        let _ = peer.write_all(request);
        let _ = peer.shutdown(std::net::Shutdown::Write);
        let mut text = String::new();
        let _ = peer.read_to_string(&mut text);
        text
    }

    #[test]
    fn whoever_asks_gets_the_numbers_and_a_wrong_request_harms_nobody() {
        let door = Door::open("127.0.0.1:0").unwrap();
        let address = door.0.local_addr().unwrap().to_string();
        let (watch, end) = (Watch::default(), AtomicBool::new(false));
        watch.update(|status| status.rows = 12_345);
        thread::scope(|scope| {
            scope.spawn(|| door.serve(&watch, &end));
            assert_eq!(ask(&address, b"nonsense"), "");
            ask(&address, &[b'x'; 100_000]);
            let text = ask(&address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            assert!(text.contains("\ntamis_stream_rows_trained_total 12345\n"), "{text}");
            assert!(!text.contains("fill"), "what is not known is not said: {text}");
            end.store(true, Relaxed);
        });
    }

    #[test]
    fn silent_peers_keep_nobody_waiting_however_many_they_are() {
        let door = Door::open("127.0.0.1:0").unwrap();
        let address = door.0.local_addr().unwrap().to_string();
        let (watch, end) = (Watch::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| door.serve(&watch, &end));
            let since = Instant::now();
            let _silent: Vec<_> = (0..2 * MOST).map(|_| TcpStream::connect(&address).unwrap()).collect();
            let text = ask(&address, b"GET / HTTP/1.1\r\n\r\n");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            // Not after all of them had their time.
            assert!(since.elapsed() < PATIENCE * 2 * MOST as u32);
            end.store(true, Relaxed);
        });
    }

    /// One byte now and then, for ever.
    #[test]
    fn whoever_asks_slowly_is_left_and_keeps_neither_others_nor_the_end_waiting() {
        let door = Door::open("127.0.0.1:0").unwrap();
        let address = door.0.local_addr().unwrap().to_string();
        let (watch, end) = (Watch::default(), AtomicBool::new(false));
        let drip = || {
            let mut peer = TcpStream::connect(&address).unwrap();
            while peer.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(50));
            }
        };
        thread::scope(|scope| {
            let served = scope.spawn(|| door.serve(&watch, &end));
            drip(); // comes to an end
            let text = ask(&address, b"GET / HTTP/1.1\r\n\r\n");
            assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
            let mut silent = TcpStream::connect(&address).unwrap();
            silent.write_all(b"x").unwrap();
            end.store(true, Relaxed);
            served.join().unwrap();
        });
    }

    #[test]
    fn every_line_is_one_that_prometheus_reads() {
        let lag = ByRole::of(|role| Some(if role == Role::Train { Lag::Messages(7) } else { Lag::Bytes(8) }));
        let status = Status { lag, ..Status::default() };
        let page = text(&status);
        assert!(page.contains("\ntamis_stream_lag_messages{stream=\"train\"} 7\n"), "{page}");
        assert!(page.contains("\ntamis_stream_lag_bytes{stream=\"query\"} 8\n"), "{page}");
        assert_eq!(page.matches("\ntamis_stream_lag_").count(), 3, "each has one unit: {page}");
        for line in BufReader::new(text(&status).as_bytes()).lines() {
            let line = line.unwrap();
            let value = line.rsplit(' ').next().unwrap().parse::<f64>();
            assert!(line.starts_with("# ") || line.starts_with("tamis_stream_") && value.is_ok(), "{line}");
        }
    }
}
