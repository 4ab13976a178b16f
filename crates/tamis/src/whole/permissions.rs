//! Who may read a file that replaces another: those who could read that one, and nobody more.

use std::fs::{File, Metadata};
use std::io;

/// Gives a file the owner, the group and the mode of another, as far as the system lets it. A group that
/// cannot be kept has the rights of all others.
#[cfg(unix)]
pub(super) fn adopt(file: &File, other: &Metadata) -> io::Result<()> {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let own = file.metadata()?;
    let mut mode = other.mode() & 0o777;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        let whole = fchown(file, Some(other.uid()), Some(other.gid()));
        let group = || own.gid() == other.gid() || fchown(file, None, Some(other.gid())).is_ok();
        if whole.is_err() && !group() {
            mode = mode & 0o707 | (mode & 0o007) << 3;
        }
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn adopt(file: &File, other: &Metadata) -> io::Result<()> {
    file.set_permissions(other.permissions())
}
