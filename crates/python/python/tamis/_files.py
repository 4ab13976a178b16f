"""Files that are named: paths, globs and folders as the command line takes them, addresses that fsspec knows, and open
files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

from tamis._types import Format, Path, Quotes

# Addresses that the readers know by themselves, where they were built with them.
_NAMED_BYTES = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


class Files:
    """Files to be read, and how: what `tamis.files` gives."""

    __slots__ = ("paths", "options")

    def __init__(self, paths: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.paths = paths
        self.options = options

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"tamis.files({', '.join([*map(repr, self.paths), *given])})"


def files(
    *paths: Any,
    format: Optional[Format] = None,
    delimiter: Optional[str] = None,
    no_header: bool = False,
    with_header: bool = False,
    quotes: Optional[Quotes] = None,
    comment: Optional[str] = None,
) -> Files:
    """Files to be read by `tamis.build`, `plan`, `filter`, `dedup` and `test`, as the command line reads them: paths,
    globs, folders, addresses that fsspec knows (``s3://…``), or files that are open for reading bytes. CSV, TSV, one key
    per line, NDJSON, access logs and Parquet, plain or as gz, zst, bz2 or xz.

    One path can be given to those functions as it is. Use this for several of them, and to say how they are read: `format`,
    the `delimiter` of text (a character, or ``"whitespace"``), `no_header` or `with_header`, what `quotes` mean, and
    the character that `comment` lines begin with. What is not said is recognised.

    >>> import os, tamis, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for day, text in enumerate(["id;n\\nann;1\\n", "id;n\\nbob;2\\n"]):
    ...     with open(os.path.join(folder.name, f"{day}.csv"), "w") as file:
    ...         _ = file.write(text)
    >>> days = tamis.files(os.path.join(folder.name, "*.csv"), delimiter=";")
    >>> tamis.build(days, key="id").contains(["ann", "bob"])
    [True, True]
    """
    if not paths:
        raise ValueError("name a file at least")
    given: dict[str, Any] = {"format": format, "quotes": quotes}
    given["delimiter"] = "whitespace" if delimiter == "whitespace" else _byte("delimiter", delimiter)
    given["comment"] = _byte("comment", comment)
    given.update({"no_header": no_header or None, "with_header": with_header or None})
    return Files(paths, {name: value for name, value in given.items() if value is not None})


def _byte(name: str, value: Optional[str]) -> Optional[int]:
    """The number of a character."""
    if value is None:
        return None
    text = _NAMED_BYTES.get(value, value)
    if len(text) != 1 or ord(text) > 255:
        raise ValueError(f"{name} is one character of one byte, not {value!r}")
    return ord(text)


def is_open_file(data: Any) -> bool:
    """Whether this is a file that is open for reading."""
    return hasattr(data, "read") and hasattr(data, "readable")


def named_files(data: Any) -> Optional[Files]:
    """The files that somebody names; none where these are rows."""
    if isinstance(data, Files):
        return data
    if isinstance(data, (str, os.PathLike)) or is_open_file(data):
        return Files((data,), {})
    # A list of texts is one of keys: paths of another type cannot be anything else.
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, os.PathLike) for one in data):
        return Files(tuple(data), {})
    return None


def is_address(path: Any) -> bool:
    """Whether fsspec is to open it."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
    return isinstance(text, str) and "://" in text


def fsspec_file(path: Path, mode: str) -> Any:
    """The file of an address."""
    try:
        import fsspec  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(f"{os.fspath(path)}: addresses need the package fsspec: pip install fsspec") from None
    return fsspec.open(os.fspath(path), mode)


def _addresses(path: Path) -> list[str]:
    """All addresses that a pattern means."""
    import fsspec

    text = os.fspath(path)
    filesystem, inside = fsspec.core.url_to_fs(text)
    if any(sign in inside for sign in "*?["):
        found = sorted(filesystem.glob(inside))
    elif filesystem.isdir(inside):
        found = sorted(filesystem.find(inside))
    else:
        found = [inside]
    if not found:
        raise FileNotFoundError(f"{text}: there is no such file")
    return [filesystem.unstrip_protocol(one) for one in found]


@contextmanager
def local_inputs(named: Files) -> Iterator[dict[str, Any]]:
    """The inputs of a request, as names of files on this machine. What lies elsewhere, or is an open file, is copied to
    a folder that goes away; its name stays, by which the format is known."""
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        inputs: list[str] = []
        for number, path in enumerate(named.paths):
            if is_open_file(path):
                inputs.append(_copied(path, _name_of(path), folder, f"{number}"))
            elif is_address(path):
                fsspec_file(path, "rb")  # says what is missing
                for place, address in enumerate(_addresses(path)):
                    with fsspec_file(address, "rb") as file:
                        inputs.append(_copied(file, address.rpartition("/")[2], folder, f"{number}-{place}"))
            elif isinstance(path, (str, os.PathLike)):
                inputs.append(_as_a_file(os.fspath(path)))
            else:
                raise TypeError(f"a path or an open file is taken, not {type(path).__name__}")
        yield {"inputs": inputs, **named.options}


def _as_a_file(path: Union[str, bytes]) -> str:
    text = os.fsdecode(path)
    # Here a `-` is a name like any other, and no pipe.
    return os.path.join(".", text) if text == "-" else text


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return os.path.basename(name) if isinstance(name, str) and name else "data"


def _copied(file: Any, name: str, folder: str, number: str) -> str:
    os.mkdir(os.path.join(folder, number))
    path = os.path.join(folder, number, name)
    with open(path, "wb") as to:
        first = file.read(1 << 20)
        if not isinstance(first, (bytes, bytearray, memoryview)):
            raise TypeError("open the file for reading bytes: open(path, \"rb\")")
        to.write(first)
        shutil.copyfileobj(file, to)
    return path


def read_bytes(source: Any) -> bytes:
    """All bytes of an open file, or of an address."""
    if is_open_file(source):
        data = source.read()
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError("open the file for reading bytes: open(path, \"rb\")")
        return bytes(data)
    with fsspec_file(source, "rb") as file:
        found: bytes = file.read()
        return found


def write_bytes(to: Any, data: bytes) -> None:
    """Writes all bytes to an open file, or to an address."""
    if hasattr(to, "write"):
        to.write(data)
        return
    with fsspec_file(to, "wb") as file:
        file.write(data)
