"""What ``spark-submit`` runs for ``tamis build``, ``plan``, ``test``, ``filter``, ``stream`` and ``reproduce`` with ``--on``: a
job as plain data in a file, and numbers back in another."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Callable, Optional

import tamis
from tamis import Sketch, _tamis
from tamis._sketch import make_known, params_as_json
from tamis.spark import _batch, _published, _read
from tamis.spark import _streams as streams
from tamis.spark._filter import filter_source
from tamis.spark._session import check_version, explained, in_words, temporary_file
from tamis.spark._store import Store
from tamis.spark._tasks import marked


def main(arguments: Optional[list[str]] = None, text: Optional[str] = None) -> None:
    """Does the job that a file describes, or a text where the driver runs on the cluster. The exit code is 1 where it
    fails."""
    begun = time.monotonic()
    if text is None:
        (path,) = sys.argv[1:] if arguments is None else arguments
        with open(path, encoding="utf-8") as file:
            text = file.read()
    job: dict[str, Any] = json.loads(text)
    signal.signal(signal.SIGTERM, _end)
    print(f"tamis-driver {os.getpid()}", flush=True)  # whom to ask to end
    told = _told(lambda: run(job, begun))
    if job.get("staging") is not None:
        # An exit code would make YARN run it all again, with the same end.
        _tell_cluster(job, told)
        return
    draft = job["result"] + ".draft"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.replace(draft, job["result"])
    if "error" in told:
        sys.exit(1)


def _told(do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What is told of a job, also if it fails."""
    try:
        return do()
    except (ValueError, TypeError) as error:
        return {"error": marked(error), "usage": True}
    except (tamis.Error, OSError) as error:
        return {"error": marked(error)}
    except Exception as error:  # what Spark says
        return {"error": _meant(error) or _short(error), "of_spark": _meant(error) is None}


def _tell_cluster(job: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Tells it in the folder where the command looks."""
    store_of_process().write(f"{job['staging']}/result.json", json.dumps(told).encode())


def store_of_process() -> Store:
    """The file systems, also before there is a session and after it."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    settings = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(jvm.org.apache.spark.SparkConf())
    return Store(jvm, settings)


def _know_key(job: Mapping[str, Any]) -> None:
    """Makes the secret key known: it need not lie in a file while the job runs."""
    if job.get("hash_key_digits") is not None:
        make_known(bytes.fromhex(job["hash_key_digits"]))
    elif job.get("hash_key") is not None:
        make_known(job["hash_key"])
        os.unlink(job["hash_key"])


# That the job is to end, and that it does.
_asked, _ending = threading.Event(), threading.Event()


def _end(_: int, frame: Any) -> None:
    """Ends the job when it is asked to. A question to Spark is left to wait for its answer, which would be taken for
    that of the next one: its jobs are cancelled by whoever watches them, who also asks here again."""
    _asked.set()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j"):
            return
        frame = frame.f_back
    if not _ending.is_set():
        _ending.set()
        sys.exit(128 + signal.SIGTERM)


def _meant(error: Optional[BaseException]) -> Optional[str]:
    """What a failure of the cluster means: it may be that of a later question, to a session that it had ended."""
    while error is not None:
        words = in_words(str(error))
        if words is not None:
            return words
        error = error.__cause__ or error.__context__
    return None


def _short(error: Exception) -> str:
    """The first lines of what Spark says; the rest are those of the JVM."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]
    return f"{type(error).__name__}: " + "\n".join(lines[:12])


def run(job: Mapping[str, Any], begun: float) -> dict[str, Any]:
    """Does a job in a session of its own."""
    import pyspark

    check_version(pyspark.__version__)
    _know_key(job)
    with explained():
        spark = _session(job)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    seconds = {"start": time.monotonic() - begun}
    watcher = _Watcher(spark.sparkContext, job)
    watcher.start()

    def do() -> dict[str, Any]:
        try:
            with explained():
                return {**_do(spark, job, seconds), "seconds": seconds}
        except Exception as error:
            if watcher.gave_up is not None:
                raise tamis.Error(watcher.gave_up) from error
            raise

    try:
        if job.get("staging") is None:
            return do()
        # When the session stops, the command looks for what is told.
        told = _told(do)
        _tell_cluster(job, told)
        return told
    finally:
        watcher.end()
        spark.stop()


def _session(job: Mapping[str, Any]) -> Any:
    from pyspark.sql import SparkSession

    # The Arrow batches of text are larger than usual: a line is a row.
    builder = SparkSession.builder.appName(f"tamis {job['job']}")
    try:
        return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except Exception as error:
        if "stopped SparkContext" in str(error):  # by what it heard of the cluster, or did not hear
            raise tamis.Error(
                f"Spark gave up before the job began: does the cluster {job['on']} answer? Its address is that of "
                "its master, as shown on top of its page"
            ) from error
        raise


def _do(spark: Any, job: Mapping[str, Any], seconds: dict[str, float]) -> dict[str, Any]:
    """Does a job, or several one after the other, and adds the time of each to that of its phases."""
    if job["job"] == "several":
        return {"told": [_do(spark, one, seconds) for one in job["request"]]}
    since = time.monotonic()
    told, phase = _JOBS[job["job"]](spark, {**job["request"], "staging": job.get("staging")})
    before: dict[str, float] = told.pop("seconds", {})  # of phases before the main one
    main = time.monotonic() - since - sum(before.values())
    for name, taken in {**before, phase: main}.items():
        seconds[name] = seconds.get(name, 0.0) + taken
    return told


class _Watcher(threading.Thread):
    """Tells how many tasks are done, cancels them when the job is to end, and gives up if no executor comes."""

    def __init__(self, context: Any, job: Mapping[str, Any]) -> None:
        super().__init__(daemon=True)
        self.context, self.patience, self.staging = context, job.get("patience"), job.get("staging")
        self.done = threading.Event()
        self.gave_up: Optional[str] = None
        self.store = None if self.staging is None else store_of_process()
        self.waits_since: Optional[float] = None
        self.told_at = 0.0

    def end(self) -> None:
        """Ends."""
        self.done.set()
        self.join()

    def run(self) -> None:
        """Looks until the job is done."""
        tracker = self.context.statusTracker()
        while not self.done.wait(0.3):
            try:
                if _asked.is_set():
                    self.context.cancelAllJobs()
                    os.kill(os.getpid(), signal.SIGTERM)
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                there = [stage for stage in stages if stage is not None]
                self._mind_executors(bool(there))
                if there:
                    self._tell(sum(stage.numCompletedTasks for stage in there), sum(stage.numTasks for stage in there))
            except Exception:
                return  # the session ends

    def _tell(self, finished: int, tasks: int) -> None:
        print(f"tamis-tasks {finished} {tasks}", file=sys.stderr, flush=True)
        if self.store is not None and time.monotonic() - self.told_at > 2:
            self.told_at = time.monotonic()
            self.store.write(f"{self.staging}/progress.json", json.dumps([finished, tasks]).encode())

    def _mind_executors(self, has_tasks: bool) -> None:
        """Spark itself would wait for ever."""
        if self.patience is None or self.context.master.startswith("local"):
            return
        if not has_tasks or self.context._jsc.sc().getExecutorMemoryStatus().size() > 1:
            self.waits_since = None
        elif self.waits_since is None:
            self.waits_since = time.monotonic()
        elif time.monotonic() - self.waits_since > self.patience and self.gave_up is None:
            self.gave_up = (
                f"the cluster gave no executor within {self.patience:.0f} s: its queue may be full, an executor may ask for "
                "more memory or cores than any node has, or executors end when they start; --wait gives it more time"
            )
            self.context.cancelAllJobs()


def _options(request: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Options of a request for those who do it. The command line spells them in its own way."""
    return {**{name: request.get(name) for name in names}, "bad_rows": request["bad_rows"] or "fail", "marked": True}


# What a request says of files, and not of rows. Parameters have a form of their own.
_OF_PLACES = ("inputs", "params", "staging", "chart", "memory")


def _build(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    options = _options(request, *(name for name in request if name not in _OF_PLACES))
    options["params"] = params_as_json(request.get("params"))
    _tamis.planned_without_rows(options)  # refuses what cannot be, before anything is read
    staging = request.get("staging")
    output = request["output"] if staging is None else temporary_file("built.tamis")
    source = _read.rows(spark, request["inputs"], request, options, output=output)
    _, said = _batch.build_source(source, options, output)
    if staging is not None:
        Store.of(spark).put(output, f"{staging}/built.tamis")
    return said, "build"


def _plan(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    options = _options(request, *(name for name in request if name not in _OF_PLACES))
    source = _read.rows(spark, request["inputs"], request, options)
    return _batch.plan_source(source, options), "plan"


def _test(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    sketch = _opened(spark, request["filters"])
    options = _options(request, "key", "group")
    members = outside = None
    if request["inputs"]:
        members = _read.rows(spark, request["inputs"], request, options, sketch._file)
    if request["negatives"]:
        outside = _outside(spark, request, options, sketch)
    found = _batch.findings(members, sketch, options, outside, request["random"] or 0, request["seed"])
    tables = [source for source in (members, outside) if source is not None]
    asks = [source.classes(source.options({"key": options["key"]}), sketch._file) for source in tables]
    return {"findings": json.loads(found), "quoted": _quoted(*tables), "classes": asks}, "test"


def _opened(spark: Any, filters: str) -> Sketch:
    """A file of this machine, or one of the cluster."""
    here = "://" not in filters
    return tamis.open(filters if here else Store.of(spark).get(filters, temporary_file("filters.tamis")))


def _quoted(*sources: _batch.Source) -> list[str]:
    """What quotes mean in those texts in whose beginning a field begins with one."""
    texts = [source.text for source in sources if source.text is not None]
    return [text["quotes"] for text in texts if text["quoted"]]


def _outside(spark: Any, request: Mapping[str, Any], options: dict[str, Any], sketch: Sketch) -> _batch.Source:
    """Keys known to be outside: a table with the same columns or, for a key of one part, one key per line."""
    lone = {**options, "group": None, "without_group": True}
    try:
        return _read.rows(spark, request["negatives"], request, lone, sketch._file)
    except tamis.Error as error:
        reading = {**request, "format": "lines"}
        try:
            return _read.rows(spark, request["negatives"], reading, {**lone, "key": "1"}, sketch._file)
        except (tamis.Error, ValueError):
            raise error from None  # they are no lines either


def _filter(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    sketch = _opened(spark, request["filters"])
    store, output, staging = Store.of(spark), request["output"], request.get("staging")
    if output is not None and store.exists(output) and not _is_repeated(spark):
        raise tamis.Error(f"{output}: this is there already, and is not overwritten; name another folder")
    group = request["group"]
    group = bytes.fromhex(group["hex"]) if isinstance(group, dict) else group
    options = _options(request, "key")
    source = _read.rows(spark, request["inputs"], request, {**options, "without_group": True}, sketch._file)
    form = request["output_format"]
    draft = None if output is None else store.draft_folder(output, os.path.basename(staging or ""))
    try:
        if draft is not None:
            store.remove(draft)  # of a driver that was lost
        found = filter_source(source, sketch, options, group, request["invert"], draft, form, request["partial"])
        asks = source.classes(source.options({"key": options["key"]}), sketch._file)
        told: dict[str, Any] = {**found, "quoted": _quoted(source), "classes": asks}
        if draft is not None and output is not None and staging is None:
            store.move_folder(draft, output)
        elif draft is not None:
            told.update(draft=draft, output=output)  # the command does it, once
        return told, "analyse"
    except BaseException:
        _ending.set()
        if draft is not None:
            spark.sparkContext.cancelAllJobs()
            store.remove(draft)
        raise


def _is_repeated(spark: Any) -> bool:
    """Whether YARN started this driver because an earlier one was lost, which may have begun to write."""
    attempt = spark.sparkContext._jsc.sc().applicationAttemptId()
    return bool(attempt.isDefined()) and str(attempt.get()) != "1"


def _stream(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    learning: Optional[dict[str, Any]] = None
    if request["train"]:
        given = request["learning"]
        learning = _options(given, *(name for name in given if name not in _OF_PLACES))
        learning["params"] = params_as_json(given.get("params"))
    return streams.run(spark, request, learning), "stream"


def _streams(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    return _published.streams(spark, request), "stream"


_JOBS = {"build": _build, "plan": _plan, "test": _test, "filter": _filter, "stream": _stream, "streams": _streams}

if __name__ == "__main__":
    main()
