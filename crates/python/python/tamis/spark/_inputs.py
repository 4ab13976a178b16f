"""What the user named: files, patterns and folders, found by the rules that hold on one machine.

Spark's own rules are others: it leaves out names that begin with an underscore, stops at the first level of a folder
of Parquet files or makes columns of its subfolders' names. So it is given the files themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlparse

import tamis
from tamis import _tamis
from tamis.spark._store import Store

# What Spark and Parquet writers leave beside the data.
_MARKERS = ("_SUCCESS", "_metadata", "_common_metadata")

# What tamis itself makes: a folder may hold what an earlier run made of it.
_OWN = (".tamis", ".tamis.keys")

# What is looked at of a text, to tell how it is written.
_HEAD = 1 << 20

# How compressed text begins: xz, zstd, gzip, bzip2.
_COMPRESSED = re.compile(rb"\xfd7zXZ\0|\x28\xb5\x2f\xfd|\x1f\x8b|BZh[1-9]1AY&SY")


class Found:
    """A file that is read."""

    def __init__(self, status: Any, called: str) -> None:
        self.status = status
        self.path = str(status.getPath())
        self.name = str(status.getPath().getName())
        self.called = called  # as the user named it, or the folder and what is below it

    @property
    def pattern(self) -> str:
        """The path for Spark, which takes every path for a pattern."""
        return _escaped(self.path)


def _escaped(path: str) -> str:
    """A pattern that matches this path alone."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def find(spark: Any, inputs: Sequence[str]) -> list[Found]:
    """All files meant, in the given order; those of a pattern or a folder by path."""
    found: list[Found] = []
    store = Store.of(spark)
    for name in inputs:
        folder = store.above(name)
        path = spark._jvm.org.apache.hadoop.fs.Path(folder + name)
        system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        # A name that exists is that file, whatever characters it has.
        if name and system.exists(path):
            found += _files(system, system.getFileStatus(path), _called(path, name))
        elif re.search(r"[*?\[{]", name):
            found += _matches(spark, system, folder, name)
        else:
            raise tamis.Error(store.missing(name))
    paths: set[str] = set()
    for file in found:
        _refuse(file)
        if file.path in paths:
            raise tamis.Error(
                f"{file.path}: this file is named twice, or matched by two inputs: one machine reads it twice, and Spark "
                "once; name it once, or leave out --on"
            )
        paths.add(file.path)
    return found


def _matches(spark: Any, system: Any, folder: str, pattern: str) -> list[Found]:
    if "**" in pattern:
        raise tamis.Error(f"{pattern}: ** is for one machine: name a folder, and all that is below it is read")
    try:
        statuses = system.globStatus(spark._jvm.org.apache.hadoop.fs.Path(_escaped(folder) + pattern)) or []
    except Exception as error:
        if "URISyntaxException" not in str(error):
            raise
        raise tamis.Error(
            f"{pattern}: Hadoop matches no names where one has a colon ({str(error).splitlines()[0].rpartition(': ')[2]}): "
            "name the folder, rename what has a colon, or leave out --on"
        ) from error
    matched = [status for status in statuses if _is_shown(pattern, str(status.getPath()))]
    matched = [status for status in matched if status.getPath().getName() not in _MARKERS]
    matched.sort(key=lambda status: str(status.getPath()))
    if not matched:
        raise tamis.Error(f"{pattern}: no file matches")
    # Up to the folder of the first wildcard a match is called as was given, and from there on as it is.
    literal = re.split(r"[*?\[{\\]", pattern)[0]
    literal = literal[: literal.rfind("/") + 1]
    above = spark._jvm.org.apache.hadoop.fs.Path(folder + literal)
    beyond = len(os.path.join(str(system.makeQualified(above).toUri().getPath()), ""))
    given = _called(above, literal)

    def files(status: Any) -> list[Found]:
        return _files(system, status, os.path.join(given, str(status.getPath().toUri().getPath())[beyond:]))

    return [file for status in matched for file in files(status)]


def _is_shown(pattern: str, path: str) -> bool:
    """Whether no wildcard stands for a hidden name."""
    pairs = zip(reversed(pattern.split("/")), reversed(path.split("/")))
    return not any(name.startswith(".") and re.match(r"[*?\[{]", part) for part, name in pairs)


def _called(path: Any, text: str) -> str:
    """What names a path: what was given, without the scheme and the host."""
    return text if path.toUri().getScheme() is None else str(path.toUri().getPath())


def _files(system: Any, status: Any, called: str) -> list[Found]:
    if not status.isDirectory():
        return [Found(status, called)]
    files = sorted(_below(system, status, called), key=lambda file: file.path)
    if not files:
        raise tamis.Error(
            f"{status.getPath()}: this folder contains no files (hidden files and files of filters do not count)"
        )
    return files


def _below(system: Any, folder: Any, called: str) -> list[Found]:
    """Files below a folder. Links to folders are not followed: they may lead back."""
    files: list[Found] = []
    for status in system.listStatus(folder.getPath()):
        file = Found(status, called)
        file.called += "/" + file.name
        if file.name.startswith(".") or file.name in _MARKERS:
            continue
        if not status.isDirectory():
            files += [] if file.name.endswith(_OWN) else [file]
        elif not os.path.islink(_local(file.path) or ""):
            files += _below(system, status, file.called)
    return files


def _refuse(file: Found) -> None:
    """Refuses what Spark would leave out or take for something else, without a word."""
    hidden = file.name.startswith(".") or (file.name.startswith("_") and "=" not in file.name)
    if hidden or file.name.endswith("._COPYING_"):
        raise tamis.Error(
            f"{file.path}: Spark reads no file whose name begins with _ or . or ends with ._COPYING_; rename it, or leave "
            "out --on"
        )
    # A colon ends a scheme to Hadoop: in the name of a checksum, which files of this machine have, and in patterns.
    named = file.name if _local(file.path) else ""
    if ":" in named or (file.pattern != file.path and ":" in str(file.status.getPath().toUri().getPath())):
        raise tamis.Error(f"{file.path}: Spark cannot read a file whose name has a colon; rename it, or leave out --on")
    if file.name.endswith(_OWN):
        raise tamis.Error(f"{file.path}: this is a file of filters, not of rows")
    if file.name.endswith(".xz"):
        raise tamis.Error(f"{file.path}: Spark cannot decompress xz; use gz or bz2, or leave out --on")


def names(spark: Any, files: Sequence[Found]) -> dict[int, str]:
    """What files are called, each by the number that `file_number` gives to its rows."""
    from pyspark.sql import functions as F

    called: dict[str, Found] = {}
    for file in files:
        name = _tamis.file_name(file.called)
        other = called.setdefault(name, file)
        if other is not file:
            raise tamis.Error(
                f"{other.path} and {file.path}: (file) is {name!r} for both: read them by jobs of their own"
            )
    # As Spark spells them.
    path = spark._jvm.org.apache.hadoop.fs.Path
    paths = [(name, str(path(file.path).toUri().toString())) for name, file in called.items()]
    rows = spark.createDataFrame(paths, "name string, path string").select("name", F.xxhash64("path").alias("number"))
    return {row.number: row.name for row in rows.collect()}


def refuse_output(path: str, files: Sequence[Found]) -> None:
    """Refuses to write over what is read."""
    if os.path.exists(path):
        for file in files:
            local = _local(file.path)
            if local is not None and os.path.exists(local) and os.path.samefile(local, path):
                raise tamis.Error(f"{path}: is an input and would be overwritten; name another output")


def _local(path: str) -> Any:
    """The path on this machine; None of other file systems."""
    scheme = urlparse(path).scheme
    return path[len("file:") :] if scheme == "file" else None


def head(spark: Any, file: Found) -> bytes:
    """How a file begins, decompressed."""
    hadoop = spark._jvm.org.apache.hadoop
    configuration = spark._jsc.hadoopConfiguration()
    path = file.status.getPath()
    stream = path.getFileSystem(configuration).open(path)
    try:
        codec = hadoop.io.compress.CompressionCodecFactory(configuration).getCodec(path)
        plain = stream if codec is None else codec.createInputStream(stream)
        head = bytes(plain.readNBytes(_HEAD))
        if _COMPRESSED.match(head):
            raise tamis.Error(f"{file.path}: Spark takes this compressed file for text: its name must tell (.gz, .bz2)")
        while len(head) % _HEAD == 0 and head and b"\n" not in head:
            more = bytes(plain.readNBytes(_HEAD))
            if not more:
                break
            head += more
        # A row that is cut off does not count.
        return head[: head.rfind(b"\n") + 1] if len(head) >= _HEAD and not head.startswith(b"PAR1") else head
    finally:
        stream.close()
