"""What ``spark-submit`` runs for ``tamis build``, ``test``, ``filter`` and ``reproduce`` with ``--on``: a job as plain
data in a file, and numbers back in another."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Optional

import tamis
from tamis import Sketch, _tamis
from tamis._sketch import make_known, params_as_json
from tamis.spark import _batch, _files, _published, _read
from tamis.spark._filter import filter_source
from tamis.spark._session import check_version, explained
from tamis.spark._tasks import marked


def main(arguments: Optional[list[str]] = None) -> None:
    """Does the job that a file describes. The exit code is 1 where it fails."""
    begun = time.monotonic()
    (path,) = sys.argv[1:] if arguments is None else arguments
    with open(path, encoding="utf-8") as file:
        job: dict[str, Any] = json.load(file)
    signal.signal(signal.SIGTERM, _end)
    print(f"tamis-driver {os.getpid()}", flush=True)  # whom to ask to end
    try:
        make_known(job["hash_key"])
        if job["hash_key"] is not None:
            os.unlink(job["hash_key"])  # it is known now, and need not lie there while the job runs
        told = run(job, begun)
    except (ValueError, TypeError) as error:
        told = {"error": marked(error), "usage": True}
    except (tamis.Error, OSError) as error:
        told = {"error": marked(error)}
    except Exception as error:  # what Spark says
        told = {"error": _short(error)}
    draft = job["result"] + ".draft"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.replace(draft, job["result"])
    if "error" in told:
        sys.exit(1)


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


def _short(error: Exception) -> str:
    """The first lines of what Spark says; the rest are those of the JVM."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]
    return f"{type(error).__name__}: " + "\n".join(lines[:12])


def run(job: Mapping[str, Any], begun: float) -> dict[str, Any]:
    """Does a job in a session of its own."""
    import pyspark

    check_version(pyspark.__version__)
    from pyspark.sql import SparkSession

    # The Arrow batches of text are larger than usual: a line is a row.
    builder = SparkSession.builder.appName(f"tamis {job['job']}")
    try:
        spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    except Exception as error:
        if "stopped SparkContext" in str(error):  # by what it heard of the cluster, or did not hear
            raise tamis.Error(
                f"Spark gave up before the job began: does the cluster {job['on']} answer? Its address is that of "
                "its master, as shown on top of its page"
            ) from error
        raise
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
    seconds = {"start": time.monotonic() - begun}
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark.sparkContext, done), daemon=True)
    watcher.start()
    try:
        with explained():
            told = _do(spark, job, seconds)
    finally:
        done.set()
        watcher.join()
        spark.stop()
    return {**told, "seconds": seconds}


def _do(spark: Any, job: Mapping[str, Any], seconds: dict[str, float]) -> dict[str, Any]:
    """Does a job, or several one after the other, and adds the time of each to that of its phases."""
    if job["job"] == "several":
        return {"told": [_do(spark, one, seconds) for one in job["request"]]}
    since = time.monotonic()
    told, phase = _JOBS[job["job"]](spark, job["request"])
    before: dict[str, float] = told.pop("seconds", {})  # of phases before the main one
    main = time.monotonic() - since - sum(before.values())
    for name, taken in {**before, phase: main}.items():
        seconds[name] = seconds.get(name, 0.0) + taken
    return told


def _watch(context: Any, done: threading.Event) -> None:
    """Tells how many tasks are done, and cancels them when the job is to end."""
    tracker = context.statusTracker()
    while not done.wait(0.3):
        try:
            if _asked.is_set():
                context.cancelAllJobs()
                os.kill(os.getpid(), signal.SIGTERM)
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:
            return  # the session ends
        there = [stage for stage in stages if stage is not None]
        if there:
            finished = sum(stage.numCompletedTasks for stage in there)
            print(f"tamis-tasks {finished} {sum(stage.numTasks for stage in there)}", file=sys.stderr, flush=True)


def _options(request: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Options of a request for those who do it. The command line spells them in its own way."""
    return {**{name: request.get(name) for name in names}, "bad_rows": request["bad_rows"] or "fail", "marked": True}


def _build(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    options = _options(request, *(name for name in request if name not in ("inputs", "params")))
    options["params"] = params_as_json(request.get("params"))
    _tamis.planned_without_rows(options)  # refuses what cannot be, before anything is read
    source = _read.rows(spark, request["inputs"], request, options, output=request["output"])
    _, said = _batch.build_source(source, options, request["output"])
    return said, "build"


def _test(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    sketch = tamis.open(request["filters"])
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
    sketch = tamis.open(request["filters"])
    output = request["output"]
    if output is not None and _files.exists(spark, output):
        raise tamis.Error(f"{output}: this is there already, and is not overwritten; name another folder")
    group = request["group"]
    group = bytes.fromhex(group["hex"]) if isinstance(group, dict) else group
    options = _options(request, "key")
    source = _read.rows(spark, request["inputs"], request, {**options, "without_group": True}, sketch._file)
    form = request["output_format"]
    try:
        told = filter_source(source, sketch, options, group, request["invert"], output, form, request["partial"])
        asks = source.classes(source.options({"key": options["key"]}), sketch._file)
        return {**told, "quoted": _quoted(source), "classes": asks}, "analyse"
    except BaseException:
        _ending.set()
        if output is not None:
            # It was not there before, and would be in the way of the next run.
            spark.sparkContext.cancelAllJobs()
            _files.remove(spark, output)
        raise


def _streams(spark: Any, request: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    return _published.streams(spark, request), "stream"


_JOBS = {"build": _build, "test": _test, "filter": _filter, "streams": _streams}

if __name__ == "__main__":
    main()
