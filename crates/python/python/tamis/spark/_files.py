"""Files as Spark sees them: local ones, and all that Hadoop has a file system for (hdfs://, s3a://, …)."""

from __future__ import annotations

import os
import shutil
from typing import Any, Optional

import tamis
from tamis import Sketch, _tamis
from tamis.spark._session import temporary_file


class Folder:
    """A folder of few files, whose names appear whole or not at all."""

    def __init__(self, spark: Any, uri: str, create: bool = True) -> None:
        self.uri = uri.rstrip("/")
        self._jvm = spark._jvm
        # Hadoop alone says what a name means, since the checkpoint beside is Spark's: %20 is no space to it.
        path = self._jvm.org.apache.hadoop.fs.Path(self.uri)
        self._fs = path.getFileSystem(spark._jsc.hadoopConfiguration())
        self._root = self._fs.makeQualified(path)
        if create:
            self._fs.mkdirs(self._root)
        elif not self._fs.exists(self._root):
            raise tamis.Error(f"{uri}: there is no such state; train_stream makes it when it starts")
        whole = self._root.toUri()
        self.local: Optional[str] = str(whole.getPath()) if whole.getScheme() == "file" else None

    def names(self) -> list[str]:
        """The files that are there."""
        if self.local is not None:
            return sorted(os.listdir(self.local))
        return sorted(status.getPath().getName() for status in self._fs.listStatus(self._root))

    def open(self, name: str) -> Sketch:
        """A file of tamis: the file itself where it is on this machine, else a copy that nothing has a name for."""
        if self.local is not None:
            return tamis.open(os.path.join(self.local, name))
        copy = temporary_file(f"copy-{os.urandom(8).hex()}.tamis")
        path = self._jvm.org.apache.hadoop.fs.Path
        self._fs.copyToLocalFile(False, path(self._root, name), path("file://" + copy), True)
        return Sketch(_tamis.take_over(copy))

    def put(self, name: str, source: str) -> None:
        """Takes a file of this machine: it has its name when all of it is there."""
        if self.local is not None:
            draft = os.path.join(self.local, f".{name}.draft")
            shutil.copyfile(source, draft)
            descriptor = os.open(draft, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, os.path.join(self.local, name))
            folder = os.open(self.local, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return
        path = self._jvm.org.apache.hadoop.fs.Path
        draft_path, final = path(self._root, f".{name}.draft"), path(self._root, name)
        self._fs.copyFromLocalFile(False, True, path("file://" + source), draft_path)
        if not self._fs.rename(draft_path, final):
            raise tamis.Error(f"{self.uri}/{name}: could not be put in its place")

    def read(self, name: str) -> Optional[bytes]:
        """A small file; None if there is none."""
        if self.local is not None:
            try:
                with open(os.path.join(self.local, name), "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None
        from py4j.protocol import Py4JJavaError

        try:
            stream = self._fs.open(self._jvm.org.apache.hadoop.fs.Path(self._root, name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() == "FileNotFoundException":
                return None
            raise

    def remove(self, name: str) -> None:
        """Removes a file, where it is there."""
        if self.local is not None:
            try:
                os.unlink(os.path.join(self.local, name))
            except FileNotFoundError:
                pass
            return
        self._fs.delete(self._jvm.org.apache.hadoop.fs.Path(self._root, name), False)
