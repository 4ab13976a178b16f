"""The command of the package does what the program does: output, exit codes, pipes, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import pytest

SCRIPT = Path(sys.executable).with_name("tamis")
Handling = Literal["heard", "ignored"]
COMMANDS = {"module": [sys.executable, "-m", "tamis"], "script": [str(SCRIPT)]}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> list[str]:
    """`python -m tamis`, and the script that pip installs."""
    return COMMANDS[request.param]


@pytest.fixture()
def folder(tmp_path: Path, program: str) -> Path:
    """A folder with keys, and a filter of them."""
    (tmp_path / "keys.txt").write_text("".join(f"key {i}\n" for i in range(1000)))
    _run([program], ["build", "keys.txt", "-o", "keys.tamis", "--quiet"], tmp_path)
    return tmp_path


def _run(command: list[str], arguments: list[Any], cwd: Path, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run([*command, *arguments], cwd=cwd, capture_output=True, timeout=120, **more)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--version", 0),
        ("--help", 0),
        ("query --help", 0),
        ("completions bash", 0),
        ("query keys.tamis 7", 1),
        ("verify keys.tamis", 0),
        ("verify nothing.tamis", 1),
        ("inspect keys.tamis --json", 0),
        ("build keys.txt", 2),
        ("build keys.txt -o new.tamis --fpr 2", 2),
        ("sieve keys.txt", 2),
        ("", 2),
    ],
)
def test_the_command_says_and_returns_what_the_program_does(
    line: str, code: int, command: list[str], folder: Path, program: str
) -> None:
    theirs, ours = (_run(which, line.split(), folder) for which in ([program], command))
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
    assert ours.returncode == code


def test_the_command_makes_the_files_of_the_program(command: list[str], folder: Path) -> None:
    done = _run(command, ["build", "keys.txt", "-o", "ours.tamis"], folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "ours.tamis").read_bytes() == (folder / "keys.tamis").read_bytes()


def test_the_command_reads_standard_input_and_writes_standard_output(command: list[str], folder: Path) -> None:
    passed = _run(command, ["filter", "keys.tamis", "-"], folder, input=b"key 1\nnone\nkey 2\n")
    assert (passed.returncode, passed.stdout) == (0, b"key 1\nkey 2\n"), passed.stderr
    piped = _run(command, ["build", "-", "-o", "-"], folder, input=(folder / "keys.txt").read_bytes())
    assert piped.stdout == (folder / "keys.tamis").read_bytes(), piped.stderr


def test_a_reader_that_goes_away_ends_the_command_well(command: list[str], folder: Path) -> None:
    line = '"$@" generate ips --rows 300000 -o - | head -n 1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", line, "bash", *command], cwd=folder, capture_output=True, timeout=120)
    first, code = done.stdout.decode().splitlines()
    assert (first.count("."), code, done.stderr) == (3, "0", b"")


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_a_closed_standard_stream_is_not_taken_for_a_file(stream: str, command: list[str], folder: Path) -> None:
    line = f'"$@" build keys.txt -o ours.tamis {stream}'
    assert subprocess.run(["bash", "-c", line, "bash", *command], cwd=folder, timeout=120).returncode == 0
    assert (folder / "ours.tamis").read_bytes() == (folder / "keys.tamis").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names of text alone")
def test_names_of_outputs_may_be_any_bytes(command: list[str], folder: Path) -> None:
    done = _run(command, ["build", "keys.txt", "-o", b"\xfe.tamis"], folder)
    assert done.returncode == 0, done.stderr
    assert (folder / os.fsdecode(b"\xfe.tamis")).read_bytes() == (folder / "keys.tamis").read_bytes()


def _listening(command: list[str], folder: Path, how: Handling) -> "subprocess.Popen[bytes]":
    """A job that waits for its input, and hears what it is told. Whoever runs the tests may ignore Ctrl-C."""
    handler = signal.SIG_IGN if how == "ignored" else signal.SIG_DFL
    started = subprocess.Popen(
        [*command, "build", "-", "-o", "new.tamis"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: _set(handler),
    )
    status = Path(f"/proc/{started.pid}/status")
    for _ in range(1200):
        # SIGTERM (15), which Python leaves alone and the command catches.
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> 14 & 1:
            return started
        time.sleep(0.05)
    started.kill()
    pytest.fail("it does not listen")


def _set(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    # Under nohup, or in the background of some shells, what tests start would ignore it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when it listens")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_says_so_and_leaves_nothing(how: signal.Signals, command: list[str], folder: Path) -> None:
    with _listening(command, folder, "heard") as started:
        started.send_signal(how)
        code = started.wait(timeout=60)
        assert started.stderr is not None
        assert (code, started.stderr.read()) == (128 + how, b"error: interrupted; no partial output was left\n")
    assert sorted(path.name for path in folder.iterdir()) == ["keys.tamis", "keys.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells when it listens")
def test_a_signal_that_is_to_be_ignored_is_ignored(command: list[str], folder: Path) -> None:
    with _listening(command, folder, "ignored") as started:
        started.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert started.stdin is not None
        started.stdin.write((folder / "keys.txt").read_bytes())
        started.stdin.close()
        assert started.wait(timeout=60) == 0
    assert (folder / "new.tamis").read_bytes() == (folder / "keys.tamis").read_bytes()


def test_hadoop_is_not_given_a_command_that_it_cannot_run(command: list[str], folder: Path) -> None:
    for name in ("hadoop", "mapred"):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nexit 1\n")
        path.chmod(0o755)
    done = _run(command, ["reproduce", "speedup", "--on", "hadoop"], folder, env={**os.environ, "HADOOP_HOME": str(folder)})
    assert done.returncode == 2 and b"use the program itself" in done.stderr, done.stderr


@pytest.mark.spark
@pytest.mark.parametrize("command", [pytest.param("module", marks=pytest.mark.full), "script"], indirect=True)
def test_spark_runs_by_the_python_of_the_command(command: list[str], folder: Path, java: None) -> None:
    """The environment is not activated: nothing but the command names its Python."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "PATH": _without_this_python(os.environ["PATH"])}
    arguments = ["build", "keys.txt", "-o", "there.tamis", "--on", "local[2]", "--submit-arg=--driver-memory=512m"]
    arguments.append("--submit-arg=--conf=spark.ui.enabled=false")
    done = _run(command, arguments, folder, env=environment)
    assert done.returncode == 0, done.stderr
    assert (folder / "there.tamis").read_bytes() == (folder / "keys.tamis").read_bytes()


def _without_this_python(path: str) -> str:
    own = Path(sys.executable).parent
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if Path(folder) != own)
