use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::show;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tamis completions bash > /etc/bash_completion.d/tamis
  tamis completions zsh > ~/.zfunc/_tamis
  tamis completions fish > ~/.config/fish/completions/tamis.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints them.
    pub fn run(self, command: &mut Command) -> Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, "tamis", &mut script);
        show::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
