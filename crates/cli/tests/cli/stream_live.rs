//! `stream` with what comes live: sockets, pipes, slow readers, metrics.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::stream_crash;
use crate::support::{self, Folder, Guard, PATIENCE, until};

fn start(folder: &Folder, line: &str) -> Guard {
    support::foreground(folder, line, Stdio::piped(), Stdio::piped())
}

/// A port that nobody uses just now.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A peer that waits for nothing for ever.
fn patient(peer: TcpStream) -> TcpStream {
    peer.set_nonblocking(false).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.set_write_timeout(Some(PATIENCE)).unwrap();
    peer
}

pub fn connect(port: u16) -> TcpStream {
    patient(until("a listener", || TcpStream::connect(("127.0.0.1", port)).ok()))
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    patient(until("a peer", || listener.accept().ok()).0)
}

pub fn end(mut child: Guard, signal: &str) -> (Option<i32>, String) {
    if !signal.is_empty() {
        stream_crash::signal(&child, signal);
    }
    child.said()
}

/// The next line that it prints, each time. Dropped, it takes one more.
fn answers(child: &mut Child) -> impl FnMut() -> String + use<> {
    let (sender, lines) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    move || lines.recv_timeout(PATIENCE).unwrap()
}

#[test]
fn two_sockets_are_listened_at_and_peers_come_one_after_the_other() {
    let folder = Folder::new();
    let (train, ask) = (free_port(), free_port());
    let mut child = start(
        &folder,
        &format!(
            "stream --train tcp-listen://127.0.0.1:{train} --query tcp-listen://127.0.0.1:{ask} --every 20ms --fpr 1e-9 --state run"
        ),
    );
    let mut next = answers(&mut child);
    let mut teacher = connect(train);
    let mut asker = connect(ask);
    // The half line of a peer that went away well is its last; each batch knows those before it.
    teacher.write_all(b"a\nb\nc").unwrap();
    drop(teacher);
    let mut ask_until = |key: &str, next: &mut dyn FnMut() -> String| {
        let since = Instant::now();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(SeqCst) {
                    asker.write_all(format!("unknown\n{key}\n").as_bytes()).unwrap();
                    thread::sleep(Duration::from_millis(10));
                    assert!(since.elapsed() < PATIENCE);
                }
            });
            while next() != key {}
            stop.store(true, SeqCst);
        });
    };
    ask_until("c", &mut next);
    let mut teacher = connect(train);
    teacher.write_all(b"d\n").unwrap();
    ask_until("d", &mut next);
    let (code, said) = end(child, "-TERM");
    assert_eq!(code, Some(0), "{said}");
    let found = folder.run_with("query run/filter.tamis", "a\nb\nc\nd\nunknown\n");
    assert_eq!(found.out, "a\tyes\nb\tyes\nc\tyes\nd\tyes\nunknown\t\n");
}

#[test]
fn it_connects_again_to_a_peer_that_went_away_and_ends_when_it_does_not_come_back() {
    let folder = Folder::new();
    let teacher = TcpListener::bind("127.0.0.1:0").unwrap();
    let reader = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    folder.write("ask.txt", "1\n2\n3\n");
    let child = start(
        &folder,
        &format!(
            "stream --train tcp://127.0.0.1:{} --query ask.txt --batch 2 --fpr 1e-9 --reconnect 1s -o tcp://127.0.0.1:{}",
            port(&teacher),
            port(&reader)
        ),
    );
    accept(&teacher).write_all(b"1\n").unwrap();
    let mut second = accept(&teacher);
    second.write_all(b"2\n3\n").unwrap();
    drop((second, teacher));
    let mut text = String::new();
    accept(&reader).read_to_string(&mut text).unwrap();
    assert_eq!(text, "1\n2\n3\n");
    let (code, said) = end(child, "");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_peer_that_is_not_there_is_said_and_so_is_an_address_in_use() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!("stream --train tcp-listen://{}", taken.local_addr().unwrap());
    folder.refused(&line, 1, &["tcp-listen://"]);
    let line = format!("stream --train tcp://127.0.0.1:{} --reconnect 0s", free_port());
    folder.refused(&line, 1, &["no peer for 10 s", "reconnect"]);
}

#[test]
fn a_line_that_never_ends_is_refused_in_little_memory() {
    let folder = Folder::new();
    let port = free_port();
    let child =
        start(&folder, &format!("stream --train tcp-listen://127.0.0.1:{port} --format lines --every 10ms"));
    let mut peer = connect(port);
    peer.write_all(b"good\n").unwrap();
    let part = vec![b'x'; 1 << 20];
    let written = (0..200).take_while(|_| peer.write_all(&part).is_ok()).count();
    assert!(written < 100, "{written} MiB were taken of one line");
    let (code, said) = end(child, "");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("line 2") && said.contains("longer than 16 MiB"), "{said}");
}

/// The most memory of its own that the process has had so far, in bytes.
fn memory(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10
}

/// How long the process has worked, in ticks.
fn work(child: &Child) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [11, 12].iter().filter_map(|&field| fields.get(field)?.parse::<u64>().ok()).sum()
}

/// Reads nothing until writer and program are stuck, then all; gives what was written before.
fn read_late(child: &mut Child, written: &AtomicU64, mut out: ChildStdout) -> (u64, u64) {
    let mut before = (0, 0);
    let mut still = Instant::now();
    let stuck = until("a writer that is stuck", || {
        let now = (written.load(SeqCst), work(child));
        if now != before {
            (before, still) = (now, Instant::now());
        }
        (now.0 > 0 && still.elapsed() > Duration::from_millis(700)).then_some(now.0)
    });
    let read = AtomicU64::new(0);
    let enough = 40 << 20;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut bytes = [0; 64 << 10];
            while let Ok(len @ 1..) = out.read(&mut bytes) {
                if read.fetch_add(len as u64, SeqCst) > enough {
                    break;
                }
            }
        });
        let since = Instant::now();
        while read.load(SeqCst) <= enough {
            if since.elapsed() > PATIENCE {
                child.kill().unwrap(); // so that the reading ends
                panic!("{read:?} bytes came when they were asked for");
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    let most = memory(child);
    assert!(most > 0);
    (stuck, most)
}

#[test]
fn a_fast_producer_waits_for_a_slow_reader_and_memory_does_not_grow() {
    let folder = Folder::new();
    let text: String = (0..200_000).map(|i| format!("10.{}.{}.{i}\n", i % 7, i % 251)).collect();
    folder.write("known.txt", &text);
    folder.ok("build known.txt --keys 200000 -o known.tamis");
    for state in ["", "--state run"] {
        let port = free_port();
        let mut child = start(
            &folder,
            &format!(
                "stream --from known.tamis --query tcp-listen://127.0.0.1:{port} --batch 5000 --every 1s {state}"
            ),
        );
        let mut peer = connect(port);
        let (written, total) = (AtomicU64::new(0), 400u64 << 20);
        let out = child.stdout.take().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                while written.load(SeqCst) < total && peer.write_all(text.as_bytes()).is_ok() {
                    written.fetch_add(text.len() as u64, SeqCst);
                }
            });
            let (stuck, most) = read_late(&mut child, &written, out);
            // More than pipes and sockets hold: it did begin, and it did stop.
            assert!(stuck > 4 << 20, "only {stuck} bytes were taken");
            assert!(stuck < 100 << 20, "{stuck} bytes were taken while nobody read");
            assert!(most < 150 << 20, "{most} bytes of memory");
            let spooled: u64 = fs::read_dir(folder.path("run"))
                .into_iter()
                .flatten()
                .map(|file| file.unwrap().metadata().map_or(0, |file| file.len()))
                .sum();
            assert!(spooled < 200 << 20, "{spooled} bytes of state");
            child.kill().unwrap(); // and the producer with it
        });
        child.wait().unwrap();
    }
}

#[test]
fn metrics_are_there_while_it_runs() {
    let folder = Folder::new();
    let port = free_port();
    let mut child = start(
        &folder,
        &format!("stream --train - --query - --every 10ms --state run --metrics 127.0.0.1:{port}"),
    );
    // Both streams cannot be standard input.
    let (code, said) = {
        drop(child.stdin.take());
        end(child, "")
    };
    assert_eq!(code, Some(2), "{said}");

    let mut child = start(
        &folder,
        &format!("stream --train - --every 10ms --commit-every 0 --state run --metrics 127.0.0.1:{port}"),
    );
    child.stdin.as_mut().unwrap().write_all(b"a\nb\nc\n").unwrap();
    let metrics = || {
        let mut peer = connect(port);
        peer.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        peer.read_to_string(&mut text).unwrap();
        text
    };
    let text = until("three rows", || {
        Some(metrics()).filter(|text| {
            text.contains("\ntamis_stream_rows_trained_total 3\n") && text.contains("commit_age")
        })
    });
    for name in
        ["batches_total", "commits_total", "fill_ratio", "expected_false_positive_rate", "queries_total 0"]
    {
        assert!(text.contains(&format!("\ntamis_stream_{name}")), "{name}: {text}");
    }
    drop(child.stdin.take());
    let (code, said) = end(child, "");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(folder.run("query run/filter.tamis c").code, 0);
}

#[test]
fn a_pipe_is_learned_as_it_comes_and_a_reader_that_goes_away_ends_it_quietly() {
    let folder = Folder::new();
    folder.write("known.txt", "a\nb\n");
    let mut child = start(&folder, "stream --train known.txt --query - --every 10ms --fpr 1e-9");
    let mut next = answers(&mut child);
    let mut stdin = child.stdin.take().unwrap();
    for key in ["b", "a", "b"] {
        stdin.write_all(format!("no\n{key}\n").as_bytes()).unwrap();
        assert_eq!(next(), key);
    }
    drop(next);
    until("the end of the program", || {
        let _ = stdin.write_all(b"a\n"); // whose answer finds out
        child.try_wait().unwrap()
    });
    let (code, said) = end(child, "");
    assert_eq!(code, Some(0), "{said}");
    // Compressed bytes are not text.
    let packed = zstd::encode_all(&b"a\nb\n"[..], 1).unwrap();
    let done = folder.run_with("stream --train - --state run", packed);
    done.refused("zst", 1, &["decompress"]);
}
