"""Files of a cluster: where names mean them, how they appear, and what failures of Hadoop mean."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import tamis
from tamis.spark import _session, carry, job
from tamis.spark._store import Store, meant

pytestmark = pytest.mark.spark


@pytest.fixture
def elsewhere(spark: Any, tmp_path: Path) -> str:
    """A folder that is on no file system of this machine, for all that anyone but Hadoop knows."""
    name = "store" + tmp_path.name.replace("_", "-")
    (tmp_path / "there").mkdir()
    spark._jsc.hadoopConfiguration().set(f"fs.viewfs.mounttable.{name}.link./there", f"file://{tmp_path}/there")
    return f"viewfs://{name}/there"


def test_a_file_is_put_whole_and_replaces_another(spark: Any, elsewhere: str, tmp_path: Path) -> None:
    store, source = Store.of(spark), tmp_path / "source"
    for text in ("first", "second, which is longer"):
        source.write_text(text)
        store.put(str(source), f"{elsewhere}/file")
        assert (tmp_path / "there" / "file").read_text() == text
        copy = store.get(f"{elsewhere}/file", str(tmp_path / "copy"))
        assert Path(copy).read_text() == text
    store.write(f"{elsewhere}/small", b"\x00\xff")
    assert store.read(f"{elsewhere}/small") == b"\x00\xff" and store.read(f"{elsewhere}/none") is None
    assert not [name for name in os.listdir(tmp_path / "there") if name.endswith(".draft")]


def test_a_file_of_this_machine_stays_where_it_is(spark: Any, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.write_text("")
    assert Store.of(spark).get(f"file://{here}", str(tmp_path / "copy")) == str(here)
    assert not (tmp_path / "copy").exists()


def test_what_cannot_be_written_or_read_is_refused(spark: Any, elsewhere: str, tmp_path: Path) -> None:
    store = Store.of(spark)
    assert store.check(f"{elsewhere}/new") == f"{elsewhere}/new"
    assert os.listdir(tmp_path / "there") == []
    with pytest.raises(tamis.Error, match="this is a folder, not a file"):
        store.check(elsewhere)
    with pytest.raises(tamis.Error, match="this is a folder, not a file"):
        store.get(elsewhere, str(tmp_path / "copy"))
    with pytest.raises(tamis.Error, match="none: no such file or folder"):
        store.get(f"{elsewhere}/none", str(tmp_path / "copy"))


def test_a_name_without_a_scheme_is_one_of_the_default_file_system(
    spark: Any, elsewhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = spark._jvm.org.apache.hadoop.conf.Configuration(spark._jsc.hadoopConfiguration())
    settings.set("fs.defaultFS", elsewhere.rpartition("/")[0])
    store = Store(spark._jvm, settings)
    (tmp_path / "there" / "file").write_text("x")
    assert store.exists("/there/file") and not store.exists("file")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.tamis").write_text("")
    told = store.missing("one.tamis")
    assert "viewfs://" in told and "without a scheme" in told and f"file://{tmp_path}/one.tamis is on this" in told
    assert Store.of(spark).missing("one.csv") == "one.csv: no such file or folder"


def test_a_folder_gets_its_name_when_it_is_whole_and_only_if_nothing_has_it(
    spark: Any, elsewhere: str, tmp_path: Path
) -> None:
    store = Store.of(spark)
    drafts = [store.draft_folder(f"{elsewhere}/out", "job") for _ in range(2)]
    for draft in drafts:
        store.make_folder(draft)
    store.move_folder(drafts[0], f"{elsewhere}/out")
    with pytest.raises(tamis.Error, match="is there by now"):
        store.move_folder(drafts[1], f"{elsewhere}/out")
    store.remove_drafts(f"{elsewhere}/out", "other")
    assert len(os.listdir(tmp_path / "there")) == 2
    store.remove_drafts(f"{elsewhere}/out", "job")
    assert os.listdir(tmp_path / "there") == ["out"]
    here = store.draft_folder(str(tmp_path / "here"))  # its scheme has one slash
    store.make_folder(here)
    assert len([name for name in os.listdir(tmp_path) if name.startswith(".here.")]) == 1
    store.remove(here)
    assert sorted(os.listdir(tmp_path)) == ["there"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("...hdfs.server.namenode.SafeModeException: Cannot create file/x. Name node is in safe mode.", "in safe mode"),
        (
            "RemoteException(java.io.IOException): File /x could only be written to 0 of the 1 minReplication nodes. There "
            "are 1 datanode(s) running",
            "HDFS is full",
        ),
        (
            "...protocol.DSQuotaExceededException: The DiskSpace quota of /user/a is exceeded: quota = 64 KB\n\tat x",
            "used up: The DiskSpace quota of /user/a is exceeded: quota = 64 KB; nothing",
        ),
        ("AccessControlException: Permission denied: user=a, access=WRITE\n\tat x", "refuses it: Permission denied: user=a"),
        (
            "java.net.ConnectException: Call From h/127.0.0.1 to nn:8020 failed on connection exception: refused",
            "nn:8020 does not answer",
        ),
        ("s3a.UnknownStoreException: `s3a://b/a': getFileStatus on s3a://b/a: NoSuchBucketException", "no such bucket"),
        ("ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "missing (hadoop-aws)"),
        ("UnsupportedFileSystemException: No FileSystem for scheme \"s3a\"", "no file system for s3a://"),
    ],
)
def test_failures_of_hadoop_are_said_in_words(said: str, words: str) -> None:
    assert words in (meant(said) or "")
    assert words in (_session.in_words(said) or "")


def test_failures_of_containers_are_said_in_words() -> None:
    missing = 'Caused by: java.io.IOException: Cannot run program "./env/bin/python9": error=2, No such file or directory'
    assert "there is no Python ./env/bin/python9 where" in (_session.in_words(missing) or "")
    killed = (
        "Container [pid=1,containerID=c] is running 1B beyond the 'PHYSICAL' memory limit. Current usage: 1.5 GB of 1 GB "
        "physical memory used; 3.0 GB of 2.1 GB virtual memory used. Killing container."
    )
    assert "(1.5 GB of 1 GB were used)" in (_session.in_words(killed) or "")
    assert _session.in_words("Container killed by YARN for exceeding physical memory limits.") is not None
    assert "executors ended 3 times" in (_session.in_words("Max number of executor failures (3) reached") or "")
    assert _session.in_words("something else") is None


def test_a_later_failure_does_not_hide_why_the_cluster_ended() -> None:
    def fail() -> dict[str, Any]:
        try:
            raise RuntimeError("Container killed by YARN for exceeding physical memory limits.")
        finally:
            raise AttributeError("the session is stopped")

    told = job._told(fail)
    assert told["error"].startswith("YARN ended a container") and told["of_spark"] is False, told


def test_a_request_that_fails_is_answered_with_its_path() -> None:
    def refuse(path: str) -> dict[str, Any]:
        raise RuntimeError("Name node is in safe mode\n\tat x")

    told = carry.answer(refuse, {"path": "hdfs:///x"})
    assert told["error"].startswith("hdfs:///x: the NameNode of HDFS is in safe mode")
