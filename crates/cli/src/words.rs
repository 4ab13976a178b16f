//! How the command line spells options in messages: `--bits-per-key 9.7`.

use tamis_read::refusal::{Opt, Voice};

/// Spells options as flags.
#[derive(Debug, Clone, Copy)]
pub struct Flags;

impl Voice for Flags {
    fn option(&self, option: Opt) -> String {
        match option.0 {
            "output" => "-o".to_owned(),
            name => format!("--{}", name.replace('_', "-")),
        }
    }

    fn with(&self, option: Opt, value: &str) -> String {
        format!("{} {value}", self.option(option))
    }

    fn plan_first(&self) -> String {
        "save parameters first (tamis plan DATA … -o params.json), and build each part with --params \
         params.json (or with --like one of the files)"
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_flags() {
        assert_eq!(Flags.option(Opt("bits_per_key")), "--bits-per-key");
        assert_eq!(Flags.with(Opt("kind"), "count-min"), "--kind count-min");
        assert_eq!(Flags.option(Opt("output")), "-o");
    }

    /// A message that advises an option which is not there helps nobody.
    #[test]
    fn every_option_that_messages_name_is_an_argument_of_some_verb() {
        let command = crate::command();
        let of_verbs = command.get_subcommands().flat_map(clap::Command::get_arguments);
        let arguments: Vec<_> = of_verbs.chain(command.get_arguments()).collect();
        for option in tamis_make::opt::ALL.iter().chain(&tamis_stream::opt::OWN) {
            let flag = option.0.replace('_', "-");
            assert!(arguments.iter().any(|argument| argument.get_long() == Some(&flag)), "--{flag}");
        }
    }
}
