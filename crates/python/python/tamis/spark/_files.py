"""Files as Spark sees them: local ones, and all that Hadoop has a file system for (hdfs://, s3a://, …)."""

from __future__ import annotations

import os
import shutil
from typing import Any, Optional

import tamis
from tamis import Sketch, _tamis
from tamis.spark._session import temporary_file
from tamis.spark._store import Store


class Folder:
    """A folder of few files, whose names appear whole or not at all."""

    def __init__(self, spark: Any, uri: str, create: bool = True) -> None:
        self.uri = uri.rstrip("/")
        self._store = Store.of(spark)
        # Hadoop alone says what a name means, since the checkpoint beside is Spark's: %20 is no space to it.
        self._system, self._root = self._store.find(self.uri)
        if create:
            self._system.mkdirs(self._root)
        elif not self._system.exists(self._root):
            raise tamis.Error(f"{uri}: there is no such state; train_stream makes it when it starts")
        self.local = self._store.local(self._root)

    def names(self) -> list[str]:
        """The files that are there."""
        if self.local is not None:
            return sorted(os.listdir(self.local))
        return sorted(status.getPath().getName() for status in self._system.listStatus(self._root))

    def open(self, name: str) -> Sketch:
        """A file of tamis: the file itself where it is on this machine, else a copy that nothing has a name for."""
        if self.local is not None:
            return tamis.open(os.path.join(self.local, name))
        copy = temporary_file(f"copy-{os.urandom(8).hex()}.tamis")
        return Sketch(_tamis.take_over(self._store.get(self._there(name), copy)))

    def put(self, name: str, source: str) -> None:
        """Takes a file of this machine: it has its name when all of it is there."""
        if self.local is None:
            self._store.put(source, self._there(name))
            return
        draft = os.path.join(self.local, f".{name}.draft")
        shutil.copyfile(source, draft)
        _sync(draft)
        os.replace(draft, os.path.join(self.local, name))
        _sync(self.local)

    def read(self, name: str) -> Optional[bytes]:
        """A small file; None if there is none."""
        return self._store.read(self._there(name))

    def remove(self, name: str) -> None:
        """Removes a file, where it is there."""
        self._store.remove(self._there(name))

    def _there(self, name: str) -> str:
        return f"{self._root}/{name}"


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
