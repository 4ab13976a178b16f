//! Writing a container to standard output.

use std::io::{self, BufWriter, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use tamis::format::{self, Extras, Tally};
use tamis::params::Params;
use tamis_read::error::{Error, Result};

use super::{Form, OUTPUT, Refusal, is_for_a_person};
use crate::destination;

/// Refuses a terminal, before any work.
pub(crate) fn check(form: Form) -> Result<()> {
    match is_for_a_person(form) {
        true => Err(Error::input(OUTPUT, Refusal::Terminal)),
        false => Ok(()),
    }
}

/// Writes sections that are sealed. That nobody reads any more is an error: the container is lost.
pub(crate) fn write(
    form: Form,
    params: &Params,
    tallies: &[Tally],
    arena: &[u64],
    extras: Extras<'_>,
) -> Result<()> {
    let out = BufWriter::with_capacity(1 << 20, destination::stdout());
    to(out, form, |mut out| format::write(&mut out, params, tallies, arena, extras))
        .map_err(Error::io(OUTPUT))
}

/// Writes a container in this form.
pub(super) fn to<W: Write>(
    mut out: W,
    form: Form,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match form {
        Form::Bytes => write(&mut out)?,
        Form::Base64 => {
            let mut encoder = EncoderWriter::new(&mut out, &STANDARD);
            write(&mut encoder)?;
            encoder.finish()?;
            drop(encoder);
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}
