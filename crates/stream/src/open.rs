//! All that a run needs, opened before anything is done: what an earlier run left, what was learned,
//! the streams, the outputs.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tamis::about::Classes;
use tamis::key::Field;
use tamis::params::{Common, Params};
use tamis_jobs::classes;
use tamis_make::files;
use tamis_make::names::Content;
use tamis_make::place;
use tamis_make::rows::Names;
use tamis_read::Control;
use tamis_read::error::{Error, Result};

use super::answers::Writing;
use super::folder;
use super::identity::Identity;
use super::job::{Counts, Job};
use super::kafka;
use super::learned::{Learned, Sizing};
use super::panes::Panes;
use super::rebuild::Rebuild;
use super::refusal::{CannotResume, Impossible, News};
use super::role::{ByRole, Role};
use super::run::{Aside, Learner, Stream};
use super::sift::{Grouping, Making};
use super::sink::{Continued, Target};
use super::source::Source;
use super::state::{Begin, Commit, Planned, State, is_of_state};
use super::text::{self, Named, Setup};
use super::watch::Watch;
use super::window::Window;

/// What an earlier run left, or nothing.
pub(super) struct Resumed {
    pub(super) state: Option<State>,
    /// Its last commit.
    pub(super) begin: Commit,
    /// The batches that it had begun since, and that are run again.
    pub(super) planned: VecDeque<Planned>,
    /// The last batch that it had begun.
    pub(super) begun: u64,
    /// Whether there is anything to go on from.
    pub(super) goes_on: bool,
    /// Whether it may have written what no commit has: it was ended from outside, or had begun a batch.
    broke_off: bool,
}

/// Sketches that a job keeps, and where their answers go.
struct Sketches<'a> {
    common: &'a Common,
    sizing: &'a Sizing,
    /// The file that they begin with.
    from: Option<&'a PathBuf>,
    output: &'a Target,
    /// Which output it is.
    name: &'static str,
    /// How long it was at the commit.
    length: Option<u64>,
}

impl Resumed {
    /// Opens the state, where the job has one.
    pub(super) fn open(job: &Job) -> Result<Resumed> {
        let (state, commit, planned) = match &job.state {
            Some(folder) => {
                let (state, commit, planned) = State::open(folder, &Identity::of(job)?)?;
                (Some(state), commit, planned)
            }
            None => (None, None, VecDeque::new()),
        };
        let was_left = state.as_ref().is_some_and(|state| state.lock().was_left());
        let broke_off = was_left || !planned.is_empty();
        let goes_on = commit.is_some() || !planned.is_empty();
        let begin = commit.unwrap_or_default();
        let begun = planned.back().map_or(begin.batch, |last| last.batch);
        Ok(Resumed { state, begin, planned, begun, goes_on, broke_off })
    }

    /// The sketches of the job: those of its kind, then the counts beside them.
    fn sketches<'a>(&self, job: &'a Job) -> Vec<Sketches<'a>> {
        let Job { common, sizing, output, .. } = job;
        let (from, length) = (job.from.as_ref(), self.begin.output);
        let mut sketches = vec![Sketches { common, sizing, from, output, name: "answers", length }];
        if let Some(Counts { common, sizing, output }) = &job.counts {
            let length = self.begin.counts_output;
            sketches.push(Sketches { common, sizing, from: None, output, name: "counts", length });
        }
        sketches
    }

    /// What all sketches had learned when the commit was made, or before anything was.
    pub(super) fn learned(&self, job: &Job) -> Result<Vec<Learned>> {
        let learned = |Sketches { common, sizing, from, .. }: Sketches<'_>| {
            let committed = self.begin.learned(common.kind).zip(self.state.as_ref());
            let committed = committed.map(|(name, state)| state.path(name));
            if self.is_committed() && committed.is_none() {
                return Err(self.out_of_range(if common.kind.counts() { "counts" } else { "filter" }));
            }
            let Some(path) = committed.as_ref().or(from) else { return Learned::new(common, sizing) };
            let now = self.begin.keys.map_or_else(|| sizing.clone(), |keys| sizing.for_keys(keys));
            let learned = Learned::load(common, &now, &files::open(path)?, path)?;
            match self.begin.keys {
                // The number sizes what is made next: it is that of the filters that were made with it.
                Some(keys) if !learned.is_planned_for(keys, sizing) => Err(self.out_of_range("keys")),
                _ => Ok(learned),
            }
        };
        self.sketches(job).into_iter().map(learned).collect()
    }

    /// Whether there was a commit.
    fn is_committed(&self) -> bool {
        self.begin != Commit::default()
    }

    /// That the commit has a value that no run writes.
    fn out_of_range(&self, field: &str) -> Error {
        let commit = self.state.as_ref().map(|state| state.path("commit.json")).unwrap_or_default();
        Error::input(commit, CannotResume::OutOfRange(field.into()))
    }

    /// Whether no commit has what is learned.
    pub(super) fn is_fresh(&self, job: &Job) -> bool {
        self.begin.learned(job.common.kind).is_none()
    }

    /// Leaves out the batches that cannot be run again. Whether streams begin elsewhere than the commit
    /// has it.
    pub(super) fn leave_out_lost(&mut self, streams: &mut Opened<'_>) -> Result<bool> {
        self.planned = reachable(std::mem::take(&mut self.planned), streams)?;
        let moved = streams.values().flatten().any(|stream| stream.source.has_moved());
        if moved {
            // Records are gone that batches had. These are left out; their numbers are not used again,
            // since a broker may have their answers.
            self.planned.clear();
        }
        if let Some(state) = &mut self.state {
            state.forget_after(self.planned.back().map_or(self.begin.batch, |last| last.batch))?;
        }
        Ok(moved)
    }

    /// What was learned, with its panes and its output.
    pub(super) fn learners<'a>(
        &self,
        job: &Job,
        learned: Vec<Learned>,
        control: &'a Control,
    ) -> Result<Vec<Learner<'a>>> {
        let sketches = self.sketches(job);
        let panes: Vec<Panes> =
            sketches.iter().map(|of| self.panes(job, of.common, of.sizing)).collect::<Result<_>>()?;
        let mut sinks = Vec::new();
        let mut outputs: Vec<(usize, &Sketches<'_>)> = sketches.iter().enumerate().collect();
        // Files are cut when they are opened: after all that may still be refused.
        outputs.sort_by_key(|(_, sketches)| sketches.output.regular().is_some());
        for (at, &Sketches { output, name, length, .. }) in outputs {
            sinks.push((at, output.open(Continued { job, name, length, begun: self.begun }, control)?));
        }
        sinks.sort_by_key(|(at, _)| *at);
        let all = learned.into_iter().zip(panes).zip(sinks).zip(sketches);
        let learners = all.map(|(((learned, panes), (_, sink)), Sketches { common, .. })| {
            let writing = Writing::new(&common.recipe, common.recipe.group.is_some());
            Learner { learned, panes, sink, writing }
        });
        Ok(learners.collect())
    }

    /// Refuses outputs that cannot go on where the commit has them: all of them, before the first is cut. Says what
    /// is cut off then.
    pub(super) fn check_outputs(&self, job: &Job, watch: &Watch) -> Result<()> {
        for Sketches { output, name, length, .. } in self.sketches(job) {
            // Or all that was answered would be cut off.
            if self.is_committed() && length.is_none() && output.regular().is_some_and(Path::exists) {
                return Err(self.out_of_range(if name == "counts" { "counts_output" } else { "output" }));
            }
            output.check_length(length)?;
        }
        if let Some(path) = job.bad_rows.path() {
            let (target, known) = self.set_aside(path);
            target.check()?;
            let is_there = || fs::metadata(path).is_ok_and(|there| there.is_file() && there.len() > 0);
            if job.state.is_some() && known.is_none() && is_there() {
                return Err(Error::input(path, CannotResume::AsideUnknown));
            }
            target.check_length(known)?;
        }
        let aside = job.bad_rows.path().map(|path| self.set_aside(path));
        let answers = self.sketches(job).into_iter().map(|of| (of.output.clone(), of.length));
        let cut_off = answers.chain(aside).map(|(output, length)| self.cut_off(&output, length));
        let cut_off: Vec<Option<News>> = cut_off.collect::<Result<_>>()?;
        cut_off.iter().flatten().for_each(|cut_off| watch.say(cut_off));
        Ok(())
    }

    /// What a file has beyond the commit. It is refused if no run of this state can have written it.
    fn cut_off(&self, output: &Target, length: Option<u64>) -> Result<Option<News>> {
        let Some((path, length)) = output.regular().zip(length) else { return Ok(None) };
        let there = place::look(path).map_err(Error::io(path))?.map_or(0, |file| file.len());
        match there.saturating_sub(length) {
            0 => Ok(None),
            bytes if self.broke_off => Ok(Some(News::CutOff { path: path.into(), bytes })),
            bytes => Err(Error::input(path, CannotResume::OutputLonger { bytes })),
        }
    }

    /// Where bad rows are set aside, after those that the commit has.
    pub(super) fn aside<'a>(&self, job: &Job, control: &'a Control) -> Result<Option<Aside<'a>>> {
        let Some(path) = job.bad_rows.path() else { return Ok(None) };
        let (target, length) = self.set_aside(path);
        let sink = target.open(Continued { job, name: "bad-rows", length, begun: self.begun }, control)?;
        Ok(Some(Aside { sink, path: target.name(), is_new: length.is_none() }))
    }

    /// The file of bad rows, and how long it was at the commit, if that knows it.
    fn set_aside(&self, path: &Path) -> (Target, Option<u64>) {
        let target = Target::File(path.into());
        let known = self.begin.bad_rows.as_ref().filter(|known| known.path == target.name());
        (target, known.map(|known| known.length))
    }

    /// The panes of the commit; none without windows.
    fn panes(&self, job: &Job, common: &Common, sizing: &Sizing) -> Result<Panes> {
        let (Some(state), Some(files), Some(window)) = (&self.state, &self.begin.window, &job.window) else {
            return Ok(Panes::default());
        };
        let last = files.newest.map(|newest| window.pane(newest));
        if files.filter.iter().chain(&files.counts).any(|(number, _)| Some(*number) > last) {
            return Err(self.out_of_range("window"));
        }
        let files = if common.kind.counts() { &files.counts } else { &files.filter };
        let files = files.iter().map(|(number, name)| (*number, name));
        Panes::load(common, sizing, files, |name| state.path(name))
    }
}

/// The parameters of no groups, beside which they are found as they come.
pub(super) fn no_groups(job: &Job) -> Params {
    Params { common: job.common.clone(), groups: Vec::new() }
}

/// How each stream is read.
pub(super) fn setups<'a>(
    job: &'a Job,
    none: &'a Params,
    names: &'a Mutex<Names>,
    watch: &'a Watch,
) -> ByRole<Option<Setup<'a>>> {
    let grouping = match &job.sizing {
        _ if job.common.recipe.group.is_none() => Grouping::None,
        Sizing::Params(params) => Grouping::Known(params),
        _ => Grouping::Found(none, names),
    };
    let hash = job.common.hash;
    ByRole::of(|role| {
        let input = job.inputs[role].as_ref()?;
        // Keys that are asked are written, and asked in all groups.
        let asked = role == Role::Query;
        let making = Making {
            recipe: &input.recipe,
            hash,
            on_bad: (&job.bad_rows).into(),
            groups: if asked { Grouping::None } else { grouping },
            keys: asked || hash.by_bytes().is_some(),
            time: job.window.as_ref().and_then(Window::time).filter(|_| role == Role::Train),
        };
        Some(Setup {
            role,
            named: &input.named,
            follow: job.follow,
            options: &input.options,
            making,
            threads: job.threads,
            folder: job.state.as_deref(),
            lost: job.lost,
            watch,
            reconnect: job.reconnect,
            idle: job.idle,
        })
    })
}

/// A thread that reads ahead, and what ends it.
pub(super) type Reader<'a> = (Box<dyn FnOnce() + Send + 'a>, text::Stop);

/// A stream that is open.
pub(super) struct OpenStream<'a> {
    pub(super) source: Box<dyn Source + 'a>,
    reader: Option<Reader<'a>>,
}

/// The streams that are open.
pub(super) type Opened<'a> = ByRole<Option<OpenStream<'a>>>;

/// Opens a stream where the commit has it.
pub(super) fn open_stream<'a>(
    job: &'a Job,
    setup: Setup<'a>,
    begin: Option<&Begin>,
) -> Result<OpenStream<'a>> {
    let begin = begin.map(|begin| (&begin.place, &begin.bookmark));
    if let Named::Kafka(address) = setup.named {
        kafka::check(&[address], &job.kafka)?;
        if job.bad_rows.path().is_some() {
            return Err(Impossible::SetAsideTopic.into());
        }
        #[cfg(feature = "kafka")]
        {
            let Setup { follow, options, making, watch, .. } = setup;
            let (settings, herald) = (&job.kafka, watch.herald());
            let topic = kafka::source::TopicSetup { address, settings, follow, options, making, herald };
            let source = Box::new(kafka::source::open(topic, begin)?);
            return Ok(OpenStream { source, reader: None });
        }
    }
    let (text, reader) = text::open(setup, begin)?;
    let stop = text.stop();
    Ok(OpenStream { source: Box::new(text), reader: Some((Box::new(move || reader.run()), stop)) })
}

/// The streams as the run has them, and the threads that read them.
pub(super) fn apart<'a>(opened: Opened<'a>) -> (ByRole<Stream<'a>>, Vec<Reader<'a>>) {
    let mut readers = Vec::new();
    let streams = opened.map(|stream| {
        Stream::new(stream.map(|OpenStream { source, reader }| {
            readers.extend(reader);
            source
        }))
    });
    (streams, readers)
}

/// Refuses to write over what is read, and to read what is in the state.
pub(super) fn check_places(job: &Job, streams: &Opened<'_>) -> Result<()> {
    let outputs = [Some(&job.output), job.counts.as_ref().map(|counts| &counts.output)];
    let answers: Vec<_> = outputs.into_iter().flatten().map(Target::named).collect();
    let outputs = answers.iter().copied().chain([job.bad_rows.path()]);
    let written: Vec<PathBuf> = outputs.clone().flatten().map(place::real).collect();
    let paths: Vec<PathBuf> = streams.values().flatten().flat_map(|stream| stream.source.paths()).collect();
    files::check_outputs(outputs, paths.iter().chain(&job.from).collect::<Vec<_>>())?;
    if let Some(folder) = job.state.as_ref().and_then(|folder| folder.canonicalize().ok()) {
        let places = folder::places(&folder)?;
        let is_one_of = |path: &Path| place::Place::of(path).is_some_and(|place| places.contains(&place));
        let below = |path: &&PathBuf| {
            path.canonicalize().is_ok_and(|path| path.starts_with(&folder)) || is_one_of(path)
        };
        if let Some(path) = paths.iter().find(below) {
            return Err(Error::input(path.clone(), CannotResume::InputInState));
        }
        let of_state = |path: &&PathBuf| {
            path.parent() == Some(&*folder)
                && path.file_name().is_some_and(|name| is_of_state(&name.to_string_lossy()))
                || is_one_of(path)
        };
        if let Some(path) = written.iter().find(of_state) {
            return Err(Error::input(path.clone(), CannotResume::OutputInState));
        }
    }
    answers.into_iter().flatten().try_for_each(|path| Content::Answers.check(path))?;
    job.bad_rows.path().map_or(Ok(()), |path| Content::BAD_ROWS.check(path))
}

/// The planned batches up to the first whose records are not all there: when the machine itself
/// failed, what was written down may be shorter than the plan.
fn reachable(planned: VecDeque<Planned>, streams: &mut Opened<'_>) -> Result<VecDeque<Planned>> {
    let mut reachable = VecDeque::new();
    for batch in planned {
        for (stream, range) in streams.values_mut().zip(batch.streams.values()) {
            if let (Some(stream), Some((_, to))) = (stream, range)
                && !stream.source.reaches(to)?
            {
                return Ok(reachable);
            }
        }
        reachable.push_back(batch);
    }
    Ok(reachable)
}

/// How filters that turn out too small are rebuilt, where they are.
pub(super) fn rebuild<'a>(job: &Job, train: Option<Setup<'a>>) -> Option<Rebuild<'a>> {
    match (job.rebuild_above, &job.sizing, train) {
        (Some(above), Sizing::Keys(..), Some(setup)) => Some(Rebuild { above, setup, batch: job.batch }),
        _ => None,
    }
}

/// Says which streams ask, or remove, values of another class than those that are learned.
pub(super) fn say_classes(learned: &[Learned], opened: &Opened<'_>, fields: &[Field], watch: &Watch) {
    let known = learned.iter().fold(Classes::NONE, |all, learned| all.and(learned.classes()));
    for role in [Role::Query, Role::Remove] {
        let Some(stream) = opened[role].as_ref().filter(|_| !known.is_empty()) else { continue };
        for doubt in classes::of_question(known, fields, stream.source.classes()) {
            watch.say(&News::OtherClass { role, doubt });
        }
    }
}

/// Says how much memory a window takes, where it is much.
pub(super) fn say_memory(window: &Window, learners: &[Learner<'_>], watch: &Watch) -> Result<()> {
    const MUCH: u64 = 1 << 30;
    let mut bytes = 0u64;
    for learner in learners {
        bytes = bytes.saturating_add(learner.learned.bytes()?);
    }
    // That of the panes, and their union.
    let sketches = window.panes() + 1;
    let all = bytes.saturating_mul(sketches);
    if all > MUCH {
        watch.say(&News::Memory {
            window: window.to_string(),
            bytes: all,
            each: bytes,
            sketches,
            grouped: learners.iter().any(|learner| learner.writing.grouped()),
        });
    }
    Ok(())
}
