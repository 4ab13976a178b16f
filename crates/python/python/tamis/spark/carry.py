"""What ``tamis … --on`` runs beside ``spark-submit``: a process that has Hadoop's file systems, and YARN, at hand.

The command line writes one request per line of JSON, and each is answered by one line. It ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Callable

import tamis
from tamis.spark._session import in_words
from tamis.spark._store import Store

# What stands before an answer: the JVM may print there, too.
_ANSWER = "tamis-carrier "

# States of YARN in which an application waits, and those in which it is over.
_WAITS, _OVER = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"), ("FINISHED", "FAILED", "KILLED")


class Carrier:
    """Answers requests."""

    def __init__(self, jvm: Any) -> None:
        settings = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(jvm.org.apache.spark.SparkConf())
        self.jvm, self.settings, self.store = jvm, settings, Store(jvm, settings)
        self._yarn: Any = None
        self._known: dict[str, Any] = {}

    def get(self, path: str, to: str) -> dict[str, Any]:
        """A file, on this machine."""
        return {"at": self.store.get(path, to), "uri": str(self.store.find(path)[1])}

    def check(self, path: str) -> dict[str, Any]:
        """An output: whether it can be written, and where it is, on this machine or elsewhere."""
        uri = self.store.check(path)
        return {"uri": uri, "at": self.store.local(self.store.find(path)[1])}

    def check_folder(self, path: str) -> dict[str, Any]:
        """Refuses a folder that is there already."""
        if self.store.exists(path):
            raise tamis.Error(f"{path}: this is there already, and is not overwritten; name another folder")
        return {}

    def find(self, path: str) -> dict[str, Any]:
        """The whole address of a path."""
        return {"uri": str(self.store.find(path)[1])}

    def put(self, source: str, path: str) -> dict[str, Any]:
        """Puts a file of this machine in its place."""
        self.store.put(source, path)
        return {}

    def stage(self, name: str) -> dict[str, Any]:
        """A folder of the cluster's file system for one job."""
        uri = f"{self.store.home()}/.tamis/{name}"
        self.store.make_folder(uri)
        return {"uri": uri}

    def collect(self, staging: str, result: str, built: Any) -> dict[str, Any]:
        """Brings what a driver left in that folder: what it tells, and the file that it built."""
        told = self.store.read(f"{staging}/result.json")
        if told is None:
            return {"told": False}
        with open(result, "wb") as file:
            file.write(told)
        words = json.loads(told)
        if "error" not in words and built is not None:
            self.store.get(f"{staging}/built.tamis", built)
        if words.get("draft") is not None:
            self.store.move_folder(words["draft"], words["output"])
        return {"told": True}

    def remove(self, path: str, output: Any) -> dict[str, Any]:
        """Removes what was staged, and what drivers left beside an output."""
        if output is not None:
            self.store.remove_drafts(output, os.path.basename(path))
        self.store.remove(path)
        return {}

    def watch(self, tag: str, staging: Any) -> dict[str, Any]:
        """How far an application is; nothing is told of one that is not there yet."""
        report = self._application(tag)
        if report is None:
            return {}
        state = str(report.getYarnApplicationState())
        told: dict[str, Any] = {
            "id": str(report.getApplicationId()),
            "queue": str(report.getQueue()),
            "waits": state in _WAITS,
            "over": state in _OVER,
        }
        diagnostics = str(report.getDiagnostics() or "").strip()
        if state in _WAITS or (state in _OVER and str(report.getFinalApplicationStatus()) != "SUCCEEDED"):
            told["why"] = in_words(diagnostics) or diagnostics
        if staging is not None and state == "RUNNING":
            progress = self.store.read(f"{staging}/progress.json")
            told["tasks"] = None if progress is None else json.loads(progress)
        return told

    def explain(self, said: str) -> dict[str, Any]:
        """What the log of a driver means, where it says why executors ended."""
        return {"why": in_words(said)}

    def kill(self, tag: str) -> dict[str, Any]:
        """Ends an application, where it is not over."""
        report = self._application(tag)
        if report is None or str(report.getYarnApplicationState()) in _OVER:
            return {"killed": False}
        self._yarn.killApplication(report.getApplicationId())
        return {"killed": True}

    def _application(self, tag: str) -> Any:
        """What YARN tells of the application with a tag."""
        if self._yarn is None:
            # Its own limits are a quarter of an hour: whoever waits for an answer wants one.
            yarn = self.jvm.org.apache.hadoop.yarn.conf.YarnConfiguration(self.settings)
            yarn.setInt("yarn.resourcemanager.connect.max-wait.ms", 20_000)
            yarn.setInt("yarn.resourcemanager.connect.retry-interval.ms", 2_000)
            self._yarn = self.jvm.org.apache.hadoop.yarn.client.api.YarnClient.createYarnClient()
            self._yarn.init(yarn)
            self._yarn.start()
        if tag in self._known:
            return self._yarn.getApplicationReport(self._known[tag])
        request = self.jvm.org.apache.hadoop.yarn.api.protocolrecords.GetApplicationsRequest.newInstance()
        tags = self.jvm.java.util.HashSet()
        tags.add(tag)
        request.setApplicationTags(tags)
        found = list(self._yarn.getApplications(request))
        if not found:
            return None
        self._known[tag] = found[-1].getApplicationId()
        return found[-1]


def main() -> None:
    """Answers until there are no more requests."""
    from pyspark.java_gateway import launch_gateway

    carrier = Carrier(launch_gateway().jvm)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        print(_ANSWER + json.dumps(answer(getattr(carrier, request.pop("do")), request)), flush=True)
    os._exit(0)  # the JVM ends with the pipe to it


def answer(do: Callable[..., dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """What is answered; a failure in words."""
    try:
        return do(**request)
    except (tamis.Error, OSError) as error:
        return {"error": str(error)}
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("\tat ")]
        path = request.get("path")
        words = in_words(str(error)) or f"{type(error).__name__}: " + "\n".join(lines[:6])
        return {"error": words if path is None else f"{path}: {words}"}


if __name__ == "__main__":
    main()
