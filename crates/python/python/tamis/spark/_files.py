"""Files as Spark sees them: local ones, and all that Hadoop has a file system for (hdfs://, s3a://, …)."""

from __future__ import annotations

import os
import shutil
from typing import Any, Optional, Union

import tamis
from tamis import Sketch, _tamis
from tamis._sketch import HashKey, hashed_with, make_known
from tamis.spark._session import active, explained, is_connect, sketch_of, temporary_file
from tamis.spark._store import Store


def open(path: Union[str, os.PathLike[str]], spark: Any = None, *, hash_key: HashKey = None) -> Sketch:
    """Opens a file of tamis in any file system that Hadoop has (``hdfs://``, ``s3a://``). A path means what it means to
    Spark: one without a scheme is of Hadoop's default file system. A file that is not on this machine is copied to a
    temporary place.

    >>> import tamis.spark                                                    # doctest: +SKIP
    >>> users = tamis.spark.open("hdfs:///sets/users.tamis")                  # doctest: +SKIP
    """
    check = make_known(hash_key)
    with explained():
        store = _store_of(active() if spark is None else spark)
        return hashed_with(check, _opened(store, os.fspath(path)))


def save(sketch: Sketch, path: Union[str, os.PathLike[str]], spark: Any = None) -> None:
    """Saves a sketch in any file system that Hadoop has, where it appears whole: `open` has what a path means.

    >>> import tamis.spark                                                    # doctest: +SKIP
    >>> tamis.spark.save(users, "s3a://sets/users.tamis")                     # doctest: +SKIP
    """
    sketch_of(sketch)
    with explained():
        store = _store_of(active() if spark is None else spark)
        name = store.check(os.fspath(path))
        here = store.local(store.path(name))
        if here is not None:
            sketch.save(here)
            return
        copy = _copy()
        try:
            sketch.save(copy)
            store.put(copy, name)
        finally:
            if os.path.exists(copy):
                os.unlink(copy)


def is_elsewhere(path: Union[str, os.PathLike[str], None], spark: Any) -> bool:
    """Whether an output is one of Hadoop's, by its scheme; refuses one that cannot be written, before the work."""
    if path is None or "://" not in os.fspath(path):
        return False
    with explained():
        _store_of(spark).check(os.fspath(path))
    return True


def _store_of(spark: Any) -> Store:
    if is_connect(spark):
        raise tamis.Error(
            "by Spark Connect no file system of the server is at hand: open and save files of this machine (tamis.open, "
            "Sketch.save)"
        )
    return Store.of(spark)


def _opened(store: Store, name: str) -> Sketch:
    """A file of tamis: the file itself where it is on this machine, else a copy that nothing has a name for."""
    copy = _copy()
    place = store.get(name, copy)
    return Sketch(_tamis.take_over(place)) if place == copy else tamis.open(place)


def _copy() -> str:
    return temporary_file(f"copy-{os.urandom(8).hex()}.tamis")


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
        """A file of tamis."""
        return _opened(self._store, self._there(name))

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
