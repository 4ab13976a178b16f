//! `--memory` where keys are counted: a job takes what it is given, and the file is the same.

#[cfg(target_os = "linux")]
use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    process::{Command, Stdio},
    time::Duration,
};

use crate::support::Folder;
#[cfg(target_os = "linux")]
use crate::support::{Guard, TAMIS};

/// The most that a run of tamis had of what this line of its status tells, in bytes.
#[cfg(target_os = "linux")]
fn most(folder: &Folder, line: &str, told: &str) -> u64 {
    let mut child = Guard::start(
        Command::new(TAMIS)
            .args(line.split_whitespace())
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    );
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{line}");
            return peak;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let told = text.lines().find_map(|line| line.strip_prefix(told));
        let kibibytes = told.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kibibytes.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The most memory of its own that a run had.
#[cfg(target_os = "linux")]
pub fn own_memory(folder: &Folder, line: &str) -> u64 {
    most(folder, line, "RssAnon:")
}

/// The most memory of any kind that a run had: the program itself and the files that it maps are part of it.
#[cfg(target_os = "linux")]
fn peak(folder: &Folder, line: &str) -> u64 {
    most(folder, line, "VmHWM:")
}

/// What a job may take: its memory, the file, 16 MB, 8 MB for each of two threads, 200 bytes for each group.
#[cfg(target_os = "linux")]
fn allowed(folder: &Folder, memory: u64, groups: u64) -> u64 {
    let file = fs::metadata(folder.path("a.tamis")).unwrap().len();
    memory + file + 32_000_000 + 200 * groups
}

/// Two million keys took 57 MB in one group, 68 in a thousand.
#[cfg(target_os = "linux")]
#[test]
fn counting_takes_the_memory_that_it_is_given_however_many_the_keys() {
    let folder = Folder::new();
    let row = |i: u64| format!("{:x},{}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i % 1000);
    folder.write("t.csv", format!("k,g\n{}", (0..2_000_000).map(row).collect::<String>()));
    for (group, groups) in [("", 1), ("--group g", 1000)] {
        let build = format!("build t.csv --key k {group} --threads 2 -o");
        let used = peak(&folder, &format!("{build} a.tamis --memory 1MB"));
        let most = allowed(&folder, 1_000_000, groups);
        assert!(used <= most, "building took {used} bytes, and {most} are allowed");
        folder.ok(&format!("{build} b.tamis"));
        assert!(folder.read("a.tamis") == folder.read("b.tamis"), "{group}");
        folder.is_clean();
    }
}

#[cfg(target_os = "linux")]
fn take_little(folder: &Folder, groups: u64) {
    let rows: String = (0..groups).map(|i| format!("{i},group{i}\n")).collect();
    folder.write("t.csv", format!("k,g\n{rows}"));
    for line in
        ["build t.csv --key k --group g --threads 2 -o a.tamis", "plan t.csv --key k --group g --threads 2"]
    {
        let used = peak(folder, &format!("{line} --memory 1MB"));
        let most = allowed(folder, 1_000_000, groups);
        assert!(used <= most, "{line}: {used} bytes, and {most} are allowed");
    }
}

/// Each took 5.7 kB.
#[cfg(target_os = "linux")]
#[test]
fn a_group_takes_no_more_than_200_bytes() {
    take_little(&Folder::new(), 60_000);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow"]
fn a_million_groups_take_no_more_than_200_bytes_each() {
    take_little(&Folder::new(), 1_000_000);
}

#[test]
fn the_file_does_not_depend_on_the_memory() {
    let folder = Folder::new();
    let row = |i: u64| format!("{},{}\n", i % 35_000, i % 7);
    folder.write("t.csv", format!("k,g\n{}", (0..50_000).map(row).collect::<String>()));
    for kind in
        ["", "--kind bloom", "--kind counting --distinct", "--kind fuse", "--kind ribbon", "--hash murmur3"]
    {
        for group in ["", "--group g"] {
            let build = format!("build t.csv --key k {group} {kind} --threads 1 -q -o");
            folder.ok(&format!("{build} a.tamis --memory 2MB"));
            folder.ok(&format!("{build} b.tamis"));
            assert!(folder.read("a.tamis") == folder.read("b.tamis"), "{kind} {group}");
        }
    }
}

/// Keys that are estimated wait on disk, as hashes, if rows are packed or come once; other rows are read once more.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: reads 24 million lines in many ways"]
fn the_file_of_packed_rows_is_that_of_plain_ones_also_where_keys_are_estimated() {
    let folder = Folder::new();
    let mut out = BufWriter::new(File::create(folder.path("t.csv")).unwrap());
    writeln!(out, "k,g").unwrap();
    (0..24_000_000).for_each(|i| writeln!(out, "{i},{}", (i % 7) * (i % 3)).unwrap());
    out.into_inner().unwrap();
    let packed = Command::new("gzip").args(["-1", "--keep"]).arg(folder.path("t.csv")).status().unwrap();
    assert!(packed.success());
    for way in ["", "--kind bloom --threads 1", "--group g", "--kind counting --distinct --fpr 0.1"] {
        let build = |rows: &str, file: &str, memory: &str| {
            folder.ok(&format!("build {rows} --key k {way} --memory {memory} -q -o {file}"));
            folder.read(file)
        };
        let plain = build("t.csv", "a.tamis", "200MB");
        for memory in ["20MB", "200MB", "1GB"] {
            assert!(build("t.csv.gz", "b.tamis", memory) == plain, "{way} {memory}");
        }
        let piped = format!("cat t.csv | $TAMIS build - --key k {way} -q -o b.tamis");
        folder.shell(&piped).succeeded(&piped);
        assert!(folder.read("b.tamis") == plain, "{piped}");
    }
    // The count ends soon, and not with the pipe.
    let endless = "(cat t.csv; while cat t.csv; do :; done) | (ulimit -f 40000; exec $TAMIS build - --key k -o b.tamis)";
    folder.shell(endless).refused(endless, 1, &["temporary file", "TMPDIR"]);
}

/// Of three million keys, some are at hand at a time; or all are, on two threads.
#[test]
fn a_large_ribbon_does_not_depend_on_memory_and_threads() {
    let folder = Folder::new();
    folder.write("t.txt", (0..3_000_000).map(|i| format!("{i}\n")).collect::<String>());
    let build = "build t.txt --format lines --kind ribbon --fpr 0.02 -q -o";
    folder.ok(&format!("{build} a.tamis --memory 50MB --threads 1"));
    folder.ok(&format!("{build} b.tamis --memory 1GB --threads 2"));
    assert!(folder.read("a.tamis") == folder.read("b.tamis"));
    let bits = 8.0 * folder.read("a.tamis").len() as f64 / 3e6;
    assert!(bits <= 1.02 * 50f64.log2(), "{bits}");
    assert_eq!(folder.json("test a.tamis t.txt --format lines --random 1e5")["passed"], true);
    folder.refused(&format!("{build} c.tamis --memory 30MB"), 1, &["ribbon", "many keys", "--memory"]);
}

#[test]
fn less_memory_than_a_job_can_do_with_is_refused_and_the_least_is_named() {
    let folder = Folder::new();
    folder.write("t.txt", (0..100_000).map(|i| format!("{i}\n")).collect::<String>());
    folder.write("old.tamis", "old");
    for job in ["build t.txt -o old.tamis", "plan t.txt", "build t.txt --exact -o old.tamis"] {
        folder.refused(&format!("{job} --memory 999kB"), 2, &["--memory", "1MB"]);
    }
    let fuse = "build t.txt --kind fuse -o old.tamis --memory";
    folder.refused(&format!("{fuse} 1MB"), 1, &["100,000 keys", "--memory 4MB"]);
    assert_eq!(folder.text("old.tamis"), "old");
    folder.ok(&format!("{fuse} 4MB"));
    assert_eq!(folder.json("test old.tamis t.txt")["false_negatives"], 0);
    let ribbon = "build t.txt --kind ribbon -o old.tamis --memory";
    folder.refused(&format!("{ribbon} 1MB"), 1, &["ribbon", "100,000 keys", "--memory 4MB"]);
    folder.ok(&format!("{ribbon} 4MB"));
    assert_eq!(folder.json("test old.tamis t.txt")["false_negatives"], 0);
    folder.refused("plan --keys 100 --fpr 0.01 --memory 1MB", 2, &["goes with --machines"]);
}

/// What `plan --machines` says of one machine, at two sizes; docs/scale.md has larger ones.
#[cfg(target_os = "linux")]
#[test]
fn the_model_of_a_large_build_knows_its_memory_and_its_bytes() {
    let folder = Folder::new();
    folder.write("keys.txt", (0..2_000_000).map(|key| format!("{key}\n")).collect::<String>());
    for keys in [20_000_000u64, 80_000_000] {
        let plan = folder.json(&format!("plan --keys {keys} --fpr 0.01 --machines 1 --cores 2 --memory 4GB"));
        let scale = &plan["scale"];
        let line = format!("build keys.txt --keys {keys} --fpr 0.01 --threads 2 -o f.tamis");
        let real = own_memory(&folder, &line) as f64;
        let model = scale["ways"][0]["memory_of_the_driver"].as_f64().unwrap();
        assert!(
            (real - model).abs() < 0.1 * real,
            "{keys} keys: {real} bytes of memory, {model} by the model"
        );
        let file = fs::metadata(folder.path("f.tamis")).unwrap().len() as f64;
        let model = scale["filter_bytes"].as_f64().unwrap();
        assert!((file - model).abs() < 0.01 * file, "{keys} keys: {file} bytes, {model} by the model");
    }
}
