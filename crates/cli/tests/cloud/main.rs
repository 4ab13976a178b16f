//! Inputs that lie elsewhere, behind a server of HTTP of these tests. Those on S3 are tested on a real server
//! (`./check --clusters s3`).

mod server;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use server::{Served, Server};
use tempfile::TempDir;

/// A folder with the same table as text, compressed, and as Parquet.
struct Here(TempDir);

impl Here {
    fn new() -> Here {
        let here = Here(tempfile::tempdir().unwrap());
        let rows: String = (0..50_000).map(|row| format!("{row}\tname of {row}\n")).collect();
        let text = format!("id\tname\n{rows}");
        fs::write(here.at("all.tsv"), &text).unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        fs::write(here.at("all.tsv.gz"), gz.finish().unwrap()).unwrap();
        here.done(&["build", "all.tsv", "--key", "id", "-o", "all.tamis"]);
        here.done(&["filter", "all.tamis", "all.tsv", "-o", "all.parquet"]);
        here
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.at(name)).unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tamis"));
        let loopback = [("no_proxy", "127.0.0.1"), ("NO_PROXY", "127.0.0.1")];
        command.args(arguments).current_dir(self.0.path()).envs(loopback).output().unwrap()
    }

    fn done(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// What is said when this is refused; nothing is written then.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?} was done");
        assert!(!Path::new(&self.at("out.tamis")).exists(), "{arguments:?} left something");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// That a build of this URL gives the same bytes as one of this file.
    fn same(&self, url: &str, file: &str) {
        self.done(&["build", url, "--key", "id", "-o", "there.tamis"]);
        self.done(&["build", file, "--key", "id", "-o", "here.tamis"]);
        assert!(self.read("there.tamis") == self.read("here.tamis"), "{url}");
    }
}

#[test]
fn files_behind_http_give_the_same_bytes_as_files() {
    let (here, server) = (Here::new(), Server::start());
    for parts in [true, false] {
        for name in ["all.tsv", "all.tsv.gz", "all.parquet"] {
            let bytes = here.read(name);
            let url = server.put(&format!("{name}?token=a.b"), Served { bytes, parts, ..Served::default() });
            here.same(&url, name);
        }
    }
}

#[test]
fn filters_and_parameters_may_lie_behind_http() {
    let (here, server) = (Here::new(), Server::start());
    let put = |name: &str| server.put(name, Served { bytes: here.read(name), ..Served::default() });
    let (filters, table) = (put("all.tamis"), put("all.tsv"));
    here.done(&["query", &filters, "17"]);
    here.done(&["verify", &filters]);
    here.done(&["test", &filters, &table]);
    here.done(&["filter", &filters, &table, "-o", "there.tsv"]);
    assert!(here.read("there.tsv") == here.read("all.tsv"));
    here.done(&["plan", &table, "--key", "id", "-o", "params.json"]);
    here.done(&["build", &table, "--params", &put("params.json"), "-o", "there.tamis"]);
    here.done(&["build", "all.tsv", "--params", "params.json", "-o", "here.tamis"]);
    assert!(here.read("there.tamis") == here.read("here.tamis"));
}

#[test]
fn of_parquet_only_what_is_needed_is_asked_for() {
    let (here, server) = (Here::new(), Server::start());
    let bytes = here.read("all.parquet");
    let url = server.put("all.parquet", Served { bytes: bytes.clone(), parts: true, ..Served::default() });
    here.done(&["build", &url, "--key", "id", "-o", "there.tamis"]);
    let (asked, sent) = (server.requests.load(Relaxed), server.sent.load(Relaxed));
    assert!(asked <= 10, "{asked} requests for one row group");
    // It is looked at (all of so small a file comes then), and one column of two is read.
    assert!(sent < 3 * bytes.len() as u64, "{sent} bytes of {}", bytes.len());
}

#[test]
fn an_answer_that_breaks_off_is_taken_up_again() {
    let (here, server) = (Here::new(), Server::start());
    for name in ["all.tsv", "all.tsv.gz"] {
        let cut = Some((100_000, 4));
        let url = server.put(name, Served { bytes: here.read(name), parts: true, cut, ..Served::default() });
        here.same(&url, name);
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_stops_the_job() {
    let (here, server) = (Here::new(), Server::start());
    for name in ["all.tsv", "all.tsv.gz", "all.parquet"] {
        // Its positions need the keys themselves: it is read twice.
        let build = |url: &str| {
            vec!["build", url, "--key", "id", "--hash", "murmur3", "-o", "out.tamis"]
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<String>>()
        };
        let served = Served { bytes: here.read(name), parts: true, ..Served::default() };
        let url = server.put(name, served.clone());
        let before = server.requests.load(Relaxed);
        let words = build(&url);
        here.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
        fs::remove_file(here.at("out.tamis")).unwrap();
        let answers = server.requests.load(Relaxed) - before;
        server.put(name, Served { replaced_after: Some(answers - 1), ..served });
        let said = here.refused(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains(name) && said.contains("it was changed while it was read"), "{said}");
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let (here, server) = (Here::new(), Server::start());
    let said = |url: &str| here.refused(&["build", url, "--key", "id", "-o", "out.tamis"]);
    let none = format!("{}/none.tsv", server.url);
    assert!(said(&none).contains("none.tsv: no such file there"), "{}", said(&none));
    let secret = server.put("secret.tsv", Served { status: Some("403 Forbidden"), ..Served::default() });
    assert!(said(&secret).contains("permission denied"), "{}", said(&secret));
    let bytes = here.read("all.tsv");
    let endless = server.put("endless.tsv", Served { bytes, no_length: true, ..Served::default() });
    assert!(said(&endless).contains("does not say how long it is"), "{}", said(&endless));
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = said(&format!("http://{closed}/a.tsv"));
    assert!(gone.contains("cannot be reached"), "{gone}");
    let written =
        here.refused(&["build", "all.tsv", "--key", "id", "-o", &format!("{}/a.tamis", server.url)]);
    assert!(written.contains("nothing can be written behind HTTP"), "{written}");
}

/// A NameNode that hangs takes connections, and never answers. hdfs-native waits for it for ever.
#[test]
fn a_namenode_that_is_silent_is_given_up() {
    let here = Here::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap(); // the system takes connections for it
    let file = format!("hdfs://{}/a.tsv", silent.local_addr().unwrap());
    let tests: [&[&str]; 3] = [
        &["build", &file, "--key", "id", "-o", "out.tamis"],
        &["build", "all.tsv", "--key", "id", "-o", &file],
        &["query", &file, "17"],
    ];
    thread::scope(|scope| {
        for arguments in tests {
            let here = &here;
            scope.spawn(move || {
                let said = here.refused(arguments);
                assert!(said.contains("a.tsv") && said.contains("no answer in 30 s"), "{said}");
            });
        }
    });
}
