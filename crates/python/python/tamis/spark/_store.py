"""Files of the cluster: fetched, put in their place whole, and looked for where a name means them.

Everything goes through Hadoop's file systems in a JVM, so a name means here what it means to Spark: a path without a
scheme is one of the default file system, and a relative one is below the user's folder there.
"""

from __future__ import annotations

import os
import re
from typing import Any, Optional

import tamis

# Where a file is there when its upload is complete, and a rename is a copy.
_OBJECTS = ("s3a", "s3n", "s3", "gs", "oss", "cosn", "obs")


class Store:
    """The file systems that a configuration of Hadoop knows."""

    def __init__(self, jvm: Any, settings: Any) -> None:
        self.jvm, self.settings = jvm, settings
        self.path = jvm.org.apache.hadoop.fs.Path
        self._is_local = str(jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(settings).getScheme()) == "file"

    @classmethod
    def of(cls, spark: Any) -> Store:
        """Those of a session."""
        return cls(spark._jvm, spark._jsc.hadoopConfiguration())

    def above(self, name: str) -> str:
        """The folder that a relative name is in, if it is the one of this process. Hadoop takes a colon in a relative
        name for the end of a scheme, so it is spelled out."""
        has_place = name[:1] == "/" or re.match(r"[A-Za-z][\w+.-]*:/", name)
        return os.path.join(os.getcwd(), "") if self._is_local and not has_place else ""

    def find(self, name: str) -> tuple[Any, Any]:
        """The file system of a name, and the whole path there."""
        path = self.path(self.above(name) + name)
        system = path.getFileSystem(self.settings)
        return system, system.makeQualified(path)

    def local(self, path: Any) -> Optional[str]:
        """The path of a file of this machine; None of others."""
        uri = path.toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    def missing(self, name: str) -> str:
        """What to say of a name under which nothing is: where it was looked for."""
        _, path = self.find(name)
        text = f"{name}: no such file or folder"
        if str(path) != name and self.local(path) is None:
            text += f" ({path}: without a scheme, a path is one of Hadoop's default file system)"
            if os.path.exists(name):
                text += f"; file://{os.path.abspath(name)} is on this machine"
        return text

    def exists(self, name: str) -> bool:
        """Whether there is a file or folder."""
        system, path = self.find(name)
        return bool(system.exists(path))

    def get(self, name: str, to: str) -> str:
        """Copies a file to this machine, where it has its name when it is whole; returns where it is. A file of
        this machine stays where it is."""
        system, path = self.find(name)
        if not system.exists(path):
            raise tamis.Error(self.missing(name))
        if system.getFileStatus(path).isDirectory():
            raise tamis.Error(f"{path}: this is a folder, not a file")
        here = self.local(path)
        if here is not None:
            return here
        draft = f"{to}.{os.urandom(4).hex()}.draft"
        try:
            system.copyToLocalFile(False, path, self.path("file://" + os.path.abspath(draft)), True)
            os.replace(draft, to)
        finally:
            if os.path.exists(draft):
                os.unlink(draft)
        return to

    def check(self, name: str) -> str:
        """Refuses an output that cannot be written, before the work; returns the whole path. A small file
        is made beside it and removed again, since only the file system knows what it lets anybody do."""
        system, path = self.find(name)
        if system.exists(path) and system.getFileStatus(path).isDirectory():
            raise tamis.Error(f"{path}: this is a folder, not a file; name a file in it")
        if self.local(path) is None and not self._of_objects(path):
            draft = self._draft(path)
            try:
                system.create(draft, False).close()
            finally:
                system.delete(draft, False)
        return str(path)

    def put(self, source: str, name: str) -> None:
        """Puts a file of this machine in its place: there is all of it, or what was there before."""
        system, path = self.find(name)
        from_here = self.path("file://" + os.path.abspath(source))
        if self._of_objects(path):
            system.copyFromLocalFile(False, True, from_here, path)  # one upload, which is seen when it is complete
        else:
            draft = self._draft(path)
            try:
                system.copyFromLocalFile(False, True, from_here, draft)
                self._replace(draft, path)
            finally:
                system.delete(draft, False)
        there, here = int(system.getFileStatus(path).getLen()), os.path.getsize(source)
        if there != here:
            raise tamis.Error(f"{path}: {there} of {here} bytes were written")

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file; whoever reads it sees all of it or none."""
        system, path = self.find(name)
        draft = self._draft(path)
        stream = system.create(draft, True)
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()
        self._replace(draft, path)

    def read(self, name: str) -> Optional[bytes]:
        """A small file; None if there is none."""
        from py4j.protocol import Py4JJavaError

        system, path = self.find(name)
        try:
            stream = system.open(path)
        except Py4JJavaError as error:  # it may be removed at any time: asking first would not help
            if error.java_exception.getClass().getSimpleName() == "FileNotFoundException":
                return None
            raise
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def draft_folder(self, name: str, job: str = "") -> str:
        """Where a folder is written that is to appear whole: beside it, or in its place, where a rename is a copy
        and Spark's marker tells that it is whole."""
        _, path = self.find(name)
        return str(path if self._of_objects(path) else self._draft(path, job))

    def remove_drafts(self, name: str, job: str) -> None:
        """Removes what drivers of a job left beside a folder."""
        system, path = self.find(name)
        for status in system.globStatus(self.path(path.getParent(), f".*.{job}-*.draft")) or []:
            system.delete(status.getPath(), True)

    def move_folder(self, draft: str, name: str) -> None:
        """Gives a folder its name, if nothing else has it."""
        system, path = self.find(name)
        if draft == str(path):
            return
        if system.exists(path):  # a rename would move it into the other one
            raise tamis.Error(f"{path}: this is there by now, and is not overwritten; what was written is in {draft}")
        if not system.rename(self.path(draft), path):
            raise tamis.Error(f"{path}: could not be put in its place; what was written is in {draft}")

    def remove(self, name: str) -> None:
        """Removes a file or a folder, where it is there, with all that is in it."""
        system, path = self.find(name)
        system.delete(path, True)

    def make_folder(self, name: str) -> None:
        """Makes a folder that nobody else can look into."""
        system, path = self.find(name)
        system.mkdirs(path, self.jvm.org.apache.hadoop.fs.permission.FsPermission("700"))

    def home(self) -> str:
        """The user's folder of the default file system."""
        return str(self.jvm.org.apache.hadoop.fs.FileSystem.get(self.settings).getHomeDirectory())

    def _of_objects(self, path: Any) -> bool:
        return str(path.toUri().getScheme()) in _OBJECTS

    def _draft(self, path: Any, job: str = "") -> Any:
        """A name beside a path that nobody else has; with the job, where there is one, so that it is found again."""
        unique = "-".join(part for part in (job, os.urandom(4).hex()) if part)
        return self.path(path.getParent(), f".{path.getName()}.{unique}.draft")

    def _replace(self, draft: Any, path: Any) -> None:
        """One step, also if something is there already."""
        hadoop = self.jvm.org.apache.hadoop.fs
        over = getattr(hadoop, "Options$Rename")
        how = self.jvm.java.lang.reflect.Array.newInstance(over.OVERWRITE.getClass(), 1)
        self.jvm.java.lang.reflect.Array.set(how, 0, over.OVERWRITE)
        hadoop.FileContext.getFileContext(path.toUri(), self.settings).rename(draft, path, how)


# What Hadoop's exceptions mean, by what they say.
_MEANINGS = (
    (
        r"SafeModeException|Name node is in safe mode",
        "the NameNode of HDFS is in safe mode, in which nothing can be written: wait until it has left it (hdfs "
        "dfsadmin -safemode wait), and try again",
    ),
    (
        r"could only be written to 0 of the \d+ minReplication nodes|DiskOutOfSpaceException|No space left on device",
        "HDFS is full, or none of its DataNodes takes a block (hdfs dfsadmin -report shows their room): nothing was put "
        "in the place of the output",
    ),
    (
        r"(?:DS|NS|NameSpace|DSpace)QuotaExceededException: ([^\n]*)",
        "the quota of a folder of HDFS is used up: {0}; nothing was put in the place of the output",
    ),
    (r"(?:AccessControlException|AccessDeniedException): ([^\n]*)", "Hadoop refuses it: {0}"),
    (r"UnknownStoreException|NoSuchBucketException", "no such bucket"),
    (r"S3AFileSystem not found", "Hadoop has no file system for s3a:// here: its jars are missing (hadoop-aws)"),
    (r"No FileSystem for scheme \"?(\w+)", "Hadoop has no file system for {0}:// here: its jars are missing"),
    (
        r"ConnectException: Call From \S+ to (\S+) failed on connection exception|Call From \S+ to (\S+) failed",
        "{0} does not answer: is it the right address, and does the server run?",
    ),
    (r"UnknownHostException: (?:Invalid host name: )?([^\n]*)", "there is no such host: {0}"),
)


def meant(text: str) -> Optional[str]:
    """What an exception of Hadoop means, in words; None of others."""
    for pattern, words in _MEANINGS:
        found = re.search(pattern, text)
        if found:
            return words.format(next((one.strip() for one in found.groups() if one), ""))
    return None
