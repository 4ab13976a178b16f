//! `stream` with many peers of one socket: silent ones, slow ones, those that break off or send too much.
#![cfg(target_os = "linux")]

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::stream_live::{connect, end, free_port};
use crate::support::{self, Folder, Guard, until};

/// A run that listens, and whose metrics can be asked.
struct Listening {
    child: Guard,
    port: u16,
    metrics: u16,
}

fn listening(folder: &Folder, options: &str) -> Listening {
    listening_at(free_port(), folder, options)
}

/// The address is a part of the job: a run that goes on has the same.
fn listening_at(port: u16, folder: &Folder, options: &str) -> Listening {
    let metrics = free_port();
    let line = format!(
        "stream --train tcp-listen://127.0.0.1:{port} --every 10ms --metrics 127.0.0.1:{metrics} {options}"
    );
    let child = support::foreground(folder, &line, Stdio::null(), Stdio::null());
    Listening { child, port, metrics }
}

impl Listening {
    fn peer(&self) -> TcpStream {
        connect(self.port)
    }

    fn send(&self, text: &str) {
        self.peer().write_all(text.as_bytes()).unwrap();
    }

    /// Waits until a number of the metrics is this one.
    fn until(&self, name: &str, number: u64) {
        let line = format!("\ntamis_stream_{name} {number}\n");
        until(&line, || {
            let mut peer = connect(self.metrics);
            peer.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
            let mut text = String::new();
            std::io::Read::read_to_string(&mut peer, &mut text).unwrap();
            text.contains(&line).then_some(())
        });
    }

    fn until_trained(&self, rows: u64) {
        self.until("rows_trained_total", rows);
    }

    /// Ends it well; what it said.
    fn done(self) -> String {
        let (code, said) = end(self.child, "-TERM");
        assert_eq!(code, Some(0), "{said}");
        said
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.end();
    }
}

/// How often each key was learned.
fn counts(folder: &Folder, keys: &[&str]) -> Vec<u64> {
    let out = folder.ok(&format!("query run/counts.tamis {}", keys.join(" ")));
    out.lines().map(|line| line.split('\t').nth(1).unwrap().parse().unwrap()).collect()
}

const COUNTING: &str = "--kind count-min --epsilon 1e-5 --state run";

#[test]
fn a_silent_peer_keeps_nobody_waiting() {
    let folder = Folder::new();
    let run = listening(&folder, "--fpr 1e-9 --state run");
    let _silent = run.peer();
    let mut half = run.peer();
    half.write_all(b"hal").unwrap();
    run.send("a\nb\nlast");
    run.until_trained(3);
    half.write_all(b"f\n").unwrap();
    run.until_trained(4);
    run.done();
    let found = folder.run_with("query run/filter.tamis", "a\nb\nlast\nhalf\nhal\n");
    assert_eq!(found.out, "a\tyes\nb\tyes\nlast\tyes\nhalf\tyes\nhal\t\n");
}

/// Lines in small pieces, of all peers at once; all of it must come from what was written down.
#[test]
fn lines_of_many_peers_are_whole_and_each_is_learned_once_over_kill_9() {
    let folder = Folder::new();
    let keys: Vec<String> = (0..8 * 50).map(|i| format!("peer-{}-key-{}", i % 8, i / 8)).collect();
    let refs: Vec<&str> = keys.iter().map(String::as_str).collect();
    let send = |run: &Listening| {
        thread::scope(|scope| {
            for peer in 0..8 {
                let keys = &keys;
                scope.spawn(move || {
                    let mut out = run.peer();
                    let own = keys.iter().skip(peer).step_by(8);
                    let text: String = own.map(|key| format!("{key}\n")).collect();
                    for part in text.as_bytes().chunks(3 + peer) {
                        out.write_all(part).unwrap();
                        thread::sleep(Duration::from_micros(50));
                    }
                });
            }
        });
    };
    let options = format!("{COUNTING} --commit-every 1h");
    let run = listening(&folder, &options);
    send(&run);
    run.until_trained(400);
    let port = run.port;
    run.kill();
    let run = listening_at(port, &folder, &format!("{options} --reconnect 1s"));
    send(&run);
    let (code, said) = end(run.child, "");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(counts(&folder, &refs), vec![2; keys.len()]);
}

#[test]
fn the_header_of_each_peer_is_its_own_also_in_the_next_run() {
    let folder = Folder::new();
    let options = format!("{COUNTING} --format csv --key id");
    let run = listening(&folder, &options);
    run.send("id,n\na,1\n");
    run.until_trained(1);
    run.send("\u{feff}id,n\r\nb,2\r\n");
    run.until_trained(2);
    run.send("n,id\n3,c\n");
    run.send("d,4\n");
    run.send("id,n\nlast,5");
    run.until_trained(3);
    let port = run.port;
    let said = run.done();
    assert_eq!(said.matches("must be the header \"id,n\"").count(), 2, "{said}");
    assert!(said.contains("its first line is \"n,id\"") && said.contains("--no-header"), "{said}");
    let run = listening_at(port, &folder, &options);
    run.send("a,1\n");
    run.send("id,n\na,1\n");
    run.until_trained(1);
    assert!(run.done().contains("its first line is \"a,1\""));
    let keys = ["a", "b", "last", "id", "c", "d", "3"];
    assert_eq!(counts(&folder, &keys), [2, 1, 1, 0, 0, 0, 0]);
}

#[test]
fn quoted_fields_over_several_lines_are_not_mixed() {
    let folder = Folder::new();
    let run = listening(&folder, &format!("{COUNTING} --format csv --key id --bad-rows skip"));
    let mut first = run.peer();
    first.write_all(b"n,id\n1,\"a\n").unwrap();
    let mut second = run.peer();
    second.write_all(b"n,id\n\"x\ny\",b\n").unwrap();
    let mut torn = run.peer();
    torn.write_all(b"n,id\n5,e\n6,\"f\n").unwrap();
    run.until_trained(2);
    drop(torn);
    first.write_all(b"z\"\n2,c\n").unwrap();
    run.until_trained(4);
    second.write_all(b"3,d\n").unwrap();
    run.until_trained(5);
    let said = run.done();
    assert!(said.contains("opened a quoted field that does not close"), "{said}");
    assert_eq!(counts(&folder, &["b", "c", "d", "e", "f", "y"]), [1, 1, 1, 1, 0, 0]);
    let found = folder.run_words(&["query", "run/counts.tamis", "a\nz"], "");
    assert!(found.out.contains("\t1\t"), "{}", found.out);
}

#[test]
fn a_peer_that_is_silent_for_too_long_is_closed_with_a_word() {
    let folder = Folder::new();
    let run = listening(&folder, "--idle 300ms --reconnect 300ms --state run --format lines");
    let mut silent = run.peer();
    silent.write_all(b"a\nhal").unwrap();
    // Closed, it reads the end.
    assert_eq!(std::io::Read::read(&mut silent, &mut [0; 8]).unwrap_or(0), 0);
    run.send("b\n");
    let (code, said) = end(run.child, "");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("sent nothing for") && said.contains("unfinished row of 3 bytes"), "{said}");
    assert!(said.contains("--idle"), "{said}");
    let found = folder.run_with("query run/filter.tamis", "a\nb\nhal\n");
    assert_eq!(found.out, "a\tyes\nb\tyes\nhal\t\n");
    folder.refused("stream --train tcp-listen://127.0.0.1:1 --idle 5", 2, &["none"]);
    folder.refused("stream --train tcp-listen://127.0.0.1:1 --idle 0s", 2, &["none"]);
}

/// 17 MiB of one line, of several peers at once: a bad row each.
#[test]
fn a_line_that_is_too_long_is_a_bad_row_wherever_it_comes_from() {
    let folder = Folder::new();
    let long = "x".repeat((16 << 20) + 1);
    let whole = format!("{}\n", &long[1..]);
    let text = format!("a\n{long}\nb\n{long}yy\nc\n");
    let lines = format!("{COUNTING} --bad-rows skip --format lines");
    let run = listening(&folder, &lines);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| run.send(&text));
        }
        scope.spawn(|| run.send(&whole));
    });
    run.until_trained(10);
    run.until("bad_rows_total", 6);
    run.done();
    assert_eq!(counts(&folder, &["a", "b", "c"]), [3, 3, 3]);

    let skip = "stream --train - --bad-rows skip --format lines --state piped";
    let done = folder.run_with(skip, text.clone());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.err.contains("left out 2 bad rows"), "{}", done.err);
    let found = folder.run_with("query piped/filter.tamis", "a\nb\nc\nyy\n");
    assert_eq!(found.out, "a\tyes\nb\tyes\nc\tyes\nyy\t\n");
    let done = folder.run_with("stream --train - --format lines", text.clone());
    done.refused("long", 1, &["line 2", "longer than 16 MiB", "--bad-rows skip"]);

    folder.write("long.txt", &text);
    let run =
        format!("stream --train long.txt --follow --format lines --every 10ms {COUNTING} --bad-rows skip");
    let run = support::foreground(
        &folder,
        &run.replace("--state run", "--state followed"),
        Stdio::null(),
        Stdio::null(),
    );
    until("three keys", || {
        let done = folder.run("query followed/counts.tamis c");
        (done.code == 0 && done.out.contains("\t1\t")).then_some(())
    });
    let (code, said) = end(run, "-TERM");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_connection_that_breaks_within_a_line_leaves_no_wrong_key_and_is_said() {
    let folder = Folder::new();
    let run = listening(&folder, "--fpr 1e-9 --state run");
    let script = "import socket,struct,sys\n\
        s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n\
        s.sendall(b'a\\nhal')\nimport time; time.sleep(0.3)\n\
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\ns.close()\n";
    let _open = run.peer();
    until("a listener", || TcpStream::connect(("127.0.0.1", run.port)).ok());
    let broke = Command::new("python3").args(["-c", script, &run.port.to_string()]).status().unwrap();
    assert!(broke.success());
    run.send("b\n");
    run.until_trained(2);
    let said = run.done();
    assert!(said.contains("broke (") && said.contains("unfinished row of 3 bytes"), "{said}");
    let found = folder.run_with("query run/filter.tamis", "a\nb\nhal\n");
    assert_eq!(found.out, "a\tyes\nb\tyes\nhal\t\n");
}

/// Each of them is the first peer, and then one comes that is as it should be.
#[test]
fn a_first_peer_that_cannot_be_understood_is_closed_with_a_word_and_others_are_read() {
    let folder = Folder::new();
    let strangers: [(&str, &[u8]); 5] = [
        ("a quote that is open", b"\"abc\n"),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        ("no text", b"\x16\x03\x01\x00\x05\n\x00\n"),
        ("gzip", b"\x1f\x8b\x08\x00\x00\n\x00\n"),
        ("a line without an end", b"n,m"),
    ];
    let run = listening(&folder, &format!("{COUNTING} --format csv --key id --bad-rows skip"));
    for (_, text) in strangers {
        run.peer().write_all(text).unwrap();
    }
    let mut open = run.peer();
    open.write_all(b"\"n\no\",i").unwrap();
    run.send("id,n\na,1\n");
    run.until_trained(1);
    run.peer().write_all(b"id,n\nb,2\nc,\"3\n").unwrap();
    run.until_trained(2);
    drop(open);
    run.send("id,n\nd,4\n");
    run.until_trained(3);
    let said = run.done();
    assert_eq!(said.matches("was closed, and nothing of it was used").count(), 6, "{said}");
    assert!(said.contains("opened a quoted field that does not close"), "{said}");
    assert_eq!(counts(&folder, &["a", "b", "c", "d", "abc", "GET"]), [1, 1, 0, 1, 0, 0]);
}

#[test]
fn a_first_peer_that_cannot_be_understood_ends_a_run_in_which_bad_rows_are_refused() {
    for (text, says) in [("GET / HTTP/1.1\r\n\r\n", "no column"), ("id,\"n\n", "never closes")] {
        let folder = Folder::new();
        let options = format!("{COUNTING} --format csv --key id");
        let run = listening(&folder, &options);
        let port = run.port;
        run.send(text);
        let (code, said) = end(run.child, "");
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(says), "{said}");
        // Nothing of it is left to the next run.
        let run = listening_at(port, &folder, &options);
        run.send("id,n\na,1\n");
        run.until_trained(1);
        run.done();
    }
}

#[test]
fn a_stranger_that_comes_last_is_no_fault_of_the_stream() {
    let folder = Folder::new();
    let options = format!("{COUNTING} --format csv --key id --bad-rows skip --reconnect 300ms");
    let run = listening(&folder, &options);
    run.send("id,n\na,1\n");
    run.until_trained(1);
    run.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let (code, said) = end(run.child, "");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("its first line is \"GET / HTTP/1.1\""), "{said}");
}
