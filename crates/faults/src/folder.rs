//! A folder as a value: taken from the disk, compared, and put there again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The name of the file that takes standard output.
pub const STDOUT: &str = "stdout";

/// Names below a folder, with the bytes of files; folders have none.
pub type Folder = BTreeMap<String, Option<Vec<u8>>>;

/// What is there.
pub fn take(folder: &Path) -> io::Result<Folder> {
    fn into(all: &mut Folder, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                into(all, &entry.path(), &format!("{name}/"))?;
                all.insert(name, None);
            } else {
                all.insert(name, Some(fs::read(entry.path())?));
            }
        }
        Ok(())
    }
    let mut all = Folder::new();
    into(&mut all, folder, "")?;
    Ok(all)
}

/// Has this be there, and nothing else.
pub fn put(folder: &Path, what: &Folder) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(folder)?,
    }
    for (name, bytes) in what {
        let path = folder.join(name);
        match bytes {
            None => fs::create_dir(path)?, // stands before what is in it
            Some(bytes) => fs::write(path, bytes)?,
        }
    }
    Ok(())
}

/// Appends to files, as those who write them do between two runs.
pub fn append(folder: &Path, more: &[(&str, String)]) -> io::Result<()> {
    use std::io::Write;
    more.iter().try_for_each(|(name, text)| {
        fs::OpenOptions::new().create(true).append(true).open(folder.join(name))?.write_all(text.as_bytes())
    })
}
