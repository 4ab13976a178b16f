//! A stream that is learned and asked on Spark.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tamis::key::{Column, Field};
use tamis::params::Params;
use tamis::sizing::Kind;
use tamis_jobs::request::{BuildJob, read_params};
use tamis_make::spread;
use tamis_read::Error;
use tamis_stream::Lost;

use super::super::inspect;
use super::Stream;
use crate::notes;
use crate::show::{Output, Sheet, usage, wrong};
use crate::spark::{self, Cluster, Placed};

impl Stream {
    /// Learns and answers elsewhere.
    pub(super) fn on_spark(self, output: &Output) -> Result<ExitCode> {
        self.refuse_on_spark()?;
        let cluster = self.on.cluster(output);
        let Some(state) = &self.state else {
            return usage(
                "on Spark a stream is kept in a folder: name one by --state, such as hdfs:///state/users",
            );
        };
        let state = cluster.folder(state)?;
        let (mut learning, mut place, mut answers) = (None, None, None);
        if !self.train.is_empty() {
            learning = Some(self.learning(match &self.params {
                Some(path) => Some(read_params(&cluster.fetch(path)?)?),
                None => None,
            })?);
        }
        match (&self.output, self.query.is_empty()) {
            (Some(path), true) => place = Some(cluster.place(path.as_ref())?),
            (Some(path), false) => answers = Some(cluster.folder(path.as_ref())?),
            (None, true) => {}
            (None, false) => return usage("answers of Spark go to a folder: name it by -o"),
        }
        let lines = |key: &[Field]| key.iter().all(|field| field.column == Column::Line);
        let request = json!({
            "train": self.train, "query": self.query, "learning": learning, "reading": self.reading.request(),
            "query_key": self.query_key.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "query_is_lines": !self.query_key.is_empty() && lines(&self.query_key),
            "follow": self.follow, "every": self.every.map(|every| every.as_secs_f64()),
            "state": state, "answers": answers, "output": place.as_ref().map(|place: &Placed| &place.at),
        });
        let told = match cluster.run("streaming", json!({ "job": "stream", "request": request })) {
            // A stream that is followed has no other end; every batch is in the state.
            Err(error) if self.follow && matches!(error.downcast_ref(), Some(Error::Interrupted)) => {
                output.note(format!("ended; {} has all batches that were learned", state.display()));
                return Ok(ExitCode::SUCCESS);
            }
            told => told?,
        };
        self.conclude(output, &cluster, place.as_ref(), &told, &state)
    }

    /// What is learned, as a build would be asked for; with these parameters, where they are given.
    fn learning(&self, params: Option<Params>) -> Result<BuildJob> {
        let learning = BuildJob {
            inputs: self.train.clone(),
            reading: self.reading.request(),
            keys: self.keys.request(),
            kinds: self.kinds.request(),
            sizes: self.sizes.request(),
            counting: self.counting.request(),
            params,
            ..BuildJob::default()
        };
        let grows = learning.kinds.kind == Some(Kind::Scalable);
        let needs = matches!(learning.kinds.kind, None | Some(Kind::Blocked | Kind::Bloom | Kind::Counting));
        if grows || needs && learning.params.is_none() && learning.sizes.keys.is_none() {
            return usage(
                "a stream cannot be counted first, and filters that grow are not put together from the parts that \
                 executors make: give --keys N, or --params of tamis plan",
            );
        }
        learning.refuse_spread(&[]).map_err(wrong)?;
        spread::refuse(&learning.resolve().map_err(wrong)?.job).map_err(wrong)?;
        if learning.params.is_none() && learning.keys.group.is_some() {
            return usage(
                "the groups of a stream are not known first: give --params of tamis plan, which has them all",
            );
        }
        if learning.params.is_none() {
            learning.without_table().map_err(wrong)?;
        }
        Ok(learning)
    }

    /// Refuses what a stream on one machine has, and Spark has not.
    fn refuse_on_spark(&self) -> Result<()> {
        let windows = self.windows.request();
        let given = [
            (!self.remove.is_empty(), "--remove"),
            (self.from.is_some(), "--from"),
            (self.counts.is_some(), "--counts"),
            (windows.window.is_some(), "--window"),
            (self.rebuild_above.is_some(), "--rebuild-above"),
            (self.batch.is_some(), "--batch"),
            (self.every.is_some() && !self.follow, "--every without --follow"),
            (self.reconnect.is_some(), "--reconnect"),
            (self.lost != Lost::default(), "--lost"),
            (!self.kafka.is_empty(), "--kafka"),
            (self.kafka_config.is_some(), "--kafka-config"),
            (self.metrics.is_some(), "--metrics"),
            (self.log.is_some(), "--log"),
        ];
        let given: Vec<&str> = given.iter().filter(|(given, _)| *given).map(|(_, name)| *name).collect();
        if !given.is_empty() {
            return usage(format!(
                "a stream on Spark has no {}: leave it out, or leave out --on",
                given.join(", ")
            ));
        }
        if self.train.is_empty() && self.query.is_empty() {
            return usage("name a stream: --train INPUT, --query INPUT, or both");
        }
        for input in self.train.iter().chain(&self.query) {
            let live = ["tcp://", "tcp-listen://", "kafka://"].iter().any(|scheme| input.starts_with(scheme));
            if live || input == "-" {
                return usage(format!(
                    "{input}: on Spark a stream is a folder to which files are added: sockets, topics and standard input \
                     are for one machine (of topics, the Python package learns: tamis.spark.train_stream)"
                ));
            }
        }
        if self.follow && self.query.is_empty() && self.output.is_some() {
            return usage(
                "a stream that is followed has no end at which a file could be written: leave out -o; a run without \
                 --follow on the same state writes it",
            );
        }
        Ok(())
    }

    /// Puts what was learned in its place, and says what was done.
    fn conclude(
        &self,
        output: &Output,
        cluster: &Cluster<'_>,
        place: Option<&Placed>,
        told: &Value,
        state: &Path,
    ) -> Result<ExitCode> {
        if told["resumed"] == true {
            output.note("resumed where the last run ended");
        }
        notes::skipped(output, told["skipped"].as_u64().unwrap_or(0));
        if let Some(place) = place {
            if told["learned"].is_null() {
                bail!("{}: there are no rows to learn", self.train.join(", "));
            }
            cluster.put(place)?;
            output.note(format!("{}: {}", place.name().display(), spark::phases(told)));
            return inspect::written_elsewhere(output, &place.at, place.name());
        }
        if let Some(overfull) = told["overfull"].as_str() {
            output.warn(format!("{}: {overfull}; start over with a larger --keys", state.display()));
        }
        if let Some(name) = told["learned"].as_str() {
            output.note(format!("{}: what was learned", state.join(name).display()));
        }
        let number = |name: &str| told[name].as_u64().unwrap_or(0);
        let done = tamis_report::stream::Spread {
            rows: number("rows"),
            queries: number("queries"),
            answers: number("answers"),
            skipped: number("skipped"),
            batches: number("batches") + number("asked"),
            resumed: told["resumed"] == true,
            time: spark::timed(told).into_iter().map(|(_, time)| time).sum(),
        };
        output.summary(Sheet { table: done.table(), lines: Vec::new() }, done.json())?;
        Ok(ExitCode::SUCCESS)
    }
}
