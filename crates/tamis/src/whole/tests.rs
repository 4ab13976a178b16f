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

#[test]
fn a_folder_can_be_synced_and_a_missing_one_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    sync_folder(folder.path()).unwrap();
    if cfg!(unix) {
        assert!(sync_folder(&folder.path().join("none")).is_err());
    }
}
