//! Files as users meet them: what was saved is found by its recipe, and each refusal has its reason.

use std::fs;

use super::*;
use crate::error::{Action, NotOneSet};
use crate::key::Step;
use crate::{Counter, Filter};

/// The file of this name among those that earlier programs built.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/v1").join(name)
}

#[test]
fn the_recipe_of_the_file_is_applied_to_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("emails.tamis");
    let mut emails = Filter::builder().key("email:trim,lower".parse().unwrap()).for_keys(100).unwrap();
    emails.insert("Ann@Example.org");
    emails.insert("");
    emails.save(&path).unwrap();
    let file = File::open(&path).unwrap();
    file.verify().unwrap();
    for key in ["ann@example.org", " ANN@example.org\t", "", "  "] {
        assert!(file.contains(key), "{key:?}");
        assert_eq!(file.groups(key), [&Name::default()]);
    }
    assert!(!file.contains("bob@example.org") && file.groups("bob@example.org").is_empty());
    assert_eq!(file.key(" A ").unwrap(), b"a");
    assert_eq!((file.kind(), file.estimate("ann"), file.path()), (Kind::Blocked, None, &*path));
    assert_eq!(file.recipe().key[0].steps, [Step::Trim, Step::Lower]);
    assert_eq!(fs::read(&path).unwrap(), emails.to_bytes());
    assert_eq!(Filter::open(&path).unwrap(), emails);
    let shown = format!("{file:?}");
    for part in ["emails.tamis", "kind: blocked", "email:trim,lower", "groups: 1"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn counts_are_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hits.tamis");
    let hits: Counter = ["/", "/", "/a"].iter().collect();
    hits.save(&path).unwrap();
    let file = File::open(&path).unwrap();
    file.verify().unwrap();
    assert_eq!((file.estimate("/"), file.estimate("/a"), file.estimate("/b")), (Some(2), Some(1), Some(0)));
    assert_eq!(file.estimates("/"), [(&Name::default(), 2)]);
    assert!(file.contains("/") && !file.contains("/b") && file.estimates("/b").is_empty());
    assert_eq!(Counter::open(&path).unwrap(), hits);
}

/// Files with groups, of every kind, as the command line made them.
#[test]
fn files_with_groups_are_asked_by_group() {
    for name in ["blocked", "bloom", "fuse", "counting", "murmur3", "count-min", "count-min-conservative"] {
        let file = File::open(golden(&format!("{name}.tamis"))).unwrap();
        file.verify().unwrap();
        // The first title of the table: its rating is 7.0, by 11 votes.
        let groups = file.groups("tt0000002");
        assert!(groups.contains(&&Name::from("7")) && file.contains("tt0000002"), "{name}");
        assert_eq!(file.kind().counts(), file.estimate("tt0000002").is_some());
        let estimates = file.estimates("tt0000002");
        let sum: u64 = estimates.iter().map(|(_, estimate)| estimate).sum();
        assert_eq!(file.estimate("tt0000002").unwrap_or(0), sum);
        assert!(
            !file.kind().counts() || estimates.iter().any(|(name, votes)| name.0 == b"7" && *votes >= 11)
        );
        let natural = groups.windows(2).all(|pair| pair[0].compare_naturally(pair[1]).is_lt());
        assert!(natural, "{name}: {groups:?}");
    }
    let records = File::open(golden("layered.tamis")).unwrap();
    records.verify().unwrap();
    assert_eq!(records.groups("tt0000002\t7.0\t11"), [&Name::from("7")]);
    assert!(!records.contains("tt0000002") && !records.contains(""));
    assert!(records.key("").is_err());
}

#[test]
fn what_cannot_be_opened_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &Path| {
        let errors = [
            File::open(path).map(drop).unwrap_err(),
            Filter::open(path).map(drop).unwrap_err(),
            Counter::open(path).map(drop).unwrap_err(),
        ];
        for error in &errors {
            assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        }
        errors.into_iter().next().unwrap()
    };
    let inner = |error: Error| match error {
        Error::File { source, .. } => *source,
        other => other,
    };
    let missing = refused(&folder.path().join("none"));
    assert!(matches!(missing, Error::Read { source, .. } if source.kind() == io::ErrorKind::NotFound));
    assert!(matches!(inner(refused(folder.path())), Error::Magic));
    let path = folder.path().join("file");
    fs::write(&path, b"").unwrap();
    assert!(matches!(inner(refused(&path)), Error::Magic));
    fs::write(&path, b"id,name\n").unwrap();
    assert!(matches!(inner(refused(&path)), Error::Magic));
    let mut bytes = Filter::with_rate(1000, 0.01).unwrap().to_bytes();
    fs::write(&path, &bytes[..1000]).unwrap();
    assert!(matches!(inner(refused(&path)), Error::Length { .. }));

    // A damaged sketch is found when it is read: by verify, and by those who take it into memory.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = inner(File::open(&path).unwrap().verify().unwrap_err());
    assert!(matches!(damaged, Error::Checksum { .. }));
    assert!(matches!(inner(Filter::open(&path).unwrap_err()), Error::Checksum { .. }));

    let grouped = golden("blocked.tamis");
    assert!(matches!(inner(Filter::open(&grouped).unwrap_err()), Error::NotOneSet(NotOneSet::Groups)));
    let kind = inner(Filter::open(golden("fuse.tamis")).unwrap_err());
    assert!(matches!(kind, Error::Cannot { kind: Kind::Fuse, action: Action::Insert }));
    let counts = inner(Counter::open(&grouped).unwrap_err());
    assert!(matches!(counts, Error::Cannot { kind: Kind::Blocked, action: Action::Count }));
}

#[test]
fn a_filter_that_cannot_be_saved_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let filter = Filter::with_rate(10, 0.01).unwrap();
    assert!(matches!(filter.save(folder.path()), Err(Error::Write(_))));
    assert!(matches!(filter.save(folder.path().join("none/file")), Err(Error::Write(_))));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_replaced_stays_for_those_who_have_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.tamis");
    let one: Filter = ["ann"].iter().collect();
    one.save(&path).unwrap();
    let file = File::open(&path).unwrap();
    let two: Filter = ["bob"].iter().collect();
    two.save(&path).unwrap();
    assert!(file.contains("ann") && !file.contains("bob"));
    assert!(File::open(&path).unwrap().contains("bob"));
}
