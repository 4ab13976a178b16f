//! What a package has beside the program: a man page for each verb, and completions for shells. Both are made of
//! the definitions by which the program reads its arguments.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

use clap_complete::{Shell, generate};

/// The shells, and the names under which they look for completions.
const SHELLS: [(Shell, &str); 3] =
    [(Shell::Bash, "tamis"), (Shell::Zsh, "_tamis"), (Shell::Fish, "tamis.fish")];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("name a folder for them: tamis-pages FOLDER")?;
    write_all(Path::new(&folder))
}

/// Writes pages into `man` and scripts into `completions`, in this folder.
fn write_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (pages, scripts) = (folder.join("man"), folder.join("completions"));
    fs::create_dir_all(&pages)?;
    fs::create_dir_all(&scripts)?;
    for (shell, name) in SHELLS {
        generate(shell, &mut tamis_cli::command(), "tamis", &mut File::create(scripts.join(name))?);
    }
    // tamis.1, tamis-build.1, tamis-parquet-index.1
    Ok(clap_mangen::generate_to(tamis_cli::command(), pages)?)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    #[test]
    fn every_verb_has_a_page_with_its_options_and_examples() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path()).unwrap();
        let page = |name: &str| fs::read_to_string(folder.path().join("man").join(name)).unwrap();
        let command = tamis_cli::command();
        let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert!(verbs.contains(&"build") && verbs.contains(&"parquet"), "{verbs:?}");
        for verb in command.get_subcommands() {
            let text = page(&format!("tamis-{}.1", verb.get_name())).replace('\\', "");
            assert!(text.contains(&format!(".TH tamis-{}", verb.get_name())), "{text}");
            for option in verb.get_arguments().filter(|option| !option.is_hide_set()) {
                let flag = option.get_long().map(|long| format!("--{long}"));
                assert!(flag.is_none_or(|flag| text.contains(&flag)), "{}: {option}", verb.get_name());
            }
        }
        assert!(
            !folder.path().join("man/tamis-help.1").exists()
                && !folder.path().join("man/tamis-generate-help.1").exists()
        );
        assert!(page("tamis-build.1").contains("Examples"), "{}", page("tamis-build.1"));
        assert!(page("tamis-parquet-index.1").contains("tamis\\-parquet\\-index"));
        assert!(page("tamis.1").contains("tamis\\-build(1)"), "{}", page("tamis.1"));
    }

    #[test]
    fn every_shell_completes_the_command_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        write_all(folder.path()).unwrap();
        for ((_, name), names_it) in
            SHELLS.iter().zip(["complete -F _tamis", "#compdef tamis", "complete -c tamis"])
        {
            let script = fs::read_to_string(folder.path().join("completions").join(name)).unwrap();
            assert!(script.contains(names_it) && script.contains("inner-product"), "{name}");
        }
    }
}
