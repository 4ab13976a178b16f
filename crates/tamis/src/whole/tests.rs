//! Each refusal, and what a failure leaves behind.

use super::*;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, |out| out.write_all(b"old")).unwrap();
    let failed = write(&path, |out| {
        out.write_all(&[7; 3 << 20])?; // more than what is buffered, so that the disk is told of it
        Err(io::Error::other("the writer has failed"))
    });
    let failed = failed.unwrap_err();
    assert!(matches!(&failed.reason, Reason::Io(_)) && failed.to_string().ends_with("the writer has failed"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(Draft::new(&path).unwrap());
    assert_eq!(names(folder.path()), ["file"]);
    write(&path, |out| out.write_all(&[8; 5 << 20])).unwrap();
    assert_eq!(fs::read(&path).unwrap(), vec![8; 5 << 20]);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn what_is_no_place_for_a_file_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let reason = |path: &Path| {
        assert!(check(path).is_err(), "{}", path.display());
        Draft::new(path).unwrap_err().reason
    };
    assert!(matches!(reason(folder.path()), Reason::IsFolder));
    assert!(matches!(reason(&folder.path().join("none/file")), Reason::NoFolder));
    #[cfg(unix)]
    {
        assert!(matches!(reason(Path::new("/dev/null")), Reason::NotRegular));
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("nothing"), &link).unwrap();
        assert!(matches!(reason(&link), Reason::DanglingLink));
    }
    check(&folder.path().join("file")).unwrap();
    assert!(!folder.path().join("file").exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_through_a_link_keeps_its_place_and_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("file"), folder.path().join("link"));
    write(&path, |out| out.write_all(b"old")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write(&link, |out| out.write_all(b"new")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

fn draft(path: &Path, text: &[u8]) -> Draft {
    let mut draft = Draft::new(path).unwrap();
    draft.write_all(text).unwrap();
    draft
}

#[test]
fn files_that_belong_together_are_all_put_in_their_places_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let both = || [draft(&at("a"), b"new a"), draft(&at("new"), b"new"), draft(&at("b"), b"new b")];
    for old in ["a", "b"] {
        fs::write(at(old), format!("old {old}")).unwrap();
    }
    // The last one cannot be renamed: there is a folder by now.
    let drafts = both();
    fs::remove_file(at("b")).unwrap();
    fs::create_dir(at("b")).unwrap();
    let failed = finish_all(drafts).unwrap_err();
    assert_eq!(failed.path, at("b"));
    assert!(matches!(failed.reason, Reason::Io(_)), "{failed}");
    assert_eq!(names(folder.path()), ["a", "b"], "nothing is left of what was new");
    assert_eq!(fs::read(at("a")).unwrap(), b"old a");
    fs::remove_dir(at("b")).unwrap();
    finish_all(both()).unwrap();
    assert_eq!(names(folder.path()), ["a", "b", "new"]);
    for (name, text) in [("a", "new a"), ("b", "new b"), ("new", "new")] {
        assert_eq!(fs::read_to_string(at(name)).unwrap(), text);
    }
}

/// Users of a machine see the modes of files at every moment.
#[cfg(unix)]
#[test]
fn a_file_is_never_readable_by_more_than_the_one_that_it_replaces_or_belongs_to() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mode = |file: &fs::Metadata| file.permissions().mode() & 0o777;
    let set = |name: &str, mode| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    fs::write(at("file"), "old").unwrap();
    fs::write(at("keys"), "old").unwrap();
    set("file", 0o600);
    let mut replacing = draft(&at("file"), b"new");
    let mut beside = Draft::beside(&at("keys"), &at("file")).unwrap();
    for draft in [&mut replacing, &mut beside] {
        assert_eq!(mode(&draft.file().metadata().unwrap()), 0o600);
    }
    finish_all([beside, replacing]).unwrap();
    assert_eq!(["file", "keys"].map(|name| mode(&fs::metadata(at(name)).unwrap())), [0o600; 2]);
    // Changed while it is written.
    set("file", 0o644);
    let replacing = draft(&at("file"), b"newer");
    set("file", 0o600);
    replacing.finish().unwrap();
    assert_eq!(mode(&fs::metadata(at("file")).unwrap()), 0o600);
    // Of another owner: who may give files away keeps it.
    if chown(at("file"), Some(4711), Some(4712)).is_ok() {
        set("file", 0o640);
        write(&at("file"), |out| out.write_all(b"newest")).unwrap();
        let file = fs::metadata(at("file")).unwrap();
        assert_eq!((file.uid(), file.gid(), mode(&file)), (4711, 4712, 0o640));
    }
    // A new file is one like any other of this user.
    write(&at("new"), |_| Ok(())).unwrap();
    fs::write(at("other"), "").unwrap();
    assert_eq!(mode(&fs::metadata(at("new")).unwrap()), mode(&fs::metadata(at("other")).unwrap()));
}

#[test]
fn a_folder_can_be_synced_and_a_missing_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    sync_folder(folder.path()).unwrap();
    if cfg!(unix) {
        assert!(sync_folder(&folder.path().join("none")).is_err());
    }
}
