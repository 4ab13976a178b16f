"""Filters of other systems in Python, and Spark's own classes beside them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import tamis

VECTORS = Path(__file__).resolve().parents[3] / "testdata" / "foreign"


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_file_of_another_system_is_opened_and_asked() -> None:
    longs = tamis.open(VECTORS / "spark4_bloom_v2_longs.bin", funnel="long")
    assert longs.contains([42, 43, -1]) == [True, False, True]
    assert 42 in longs and longs.contains("42")
    chars = tamis.open(VECTORS / "spark4_guava_unencoded_chars.bin", as_="guava", funnel="utf16")
    assert chars.contains("tt0000001")
    assert tamis.open(VECTORS / "redis_three_links.bin").contains(["tt0000129", "no such"]) == [True, False]
    counts = tamis.open(VECTORS / "spark4_cms_longs.bin", funnel="long")
    assert counts.estimate([0, 42, -1]) == [13, 5, 14]


def test_what_the_originals_made_is_given_back_byte_for_byte() -> None:
    seen = 0
    for vector in json.loads((VECTORS / "made.json").read_text()):
        if "links" in vector["file"] or vector.get("as_written") is False:
            continue
        data = (VECTORS / vector["file"]).read_bytes()
        funnel = {"text": "utf8"}.get(vector["type"], vector["type"])
        sketch = tamis.from_bytes(data, funnel=funnel)
        # An empty text is no key here.
        assert all(sketch.contains([item for item in vector["items"] if item])), vector["file"]
        assert sketch.to_bytes(vector["system"]) == data, vector["file"]
        # A file of ours, which says itself what its keys are.
        assert tamis.from_bytes(sketch.to_bytes()).to_bytes(vector["system"]) == data
        seen += 1
    assert seen == 9


def test_what_is_built_is_written_for_others_by_group() -> None:
    rows = {"id": list(range(1000)), "day": ["mon", "tue"] * 500}
    days = tamis.build(rows, key="id:long", group="day", hash="guava-64", fpr=0.01)
    with pytest.raises(ValueError, match="2 filters"):
        days.to_bytes("guava")
    monday = tamis.from_bytes(days.to_bytes("guava", group="mon"), as_="guava", funnel="long")
    assert all(monday.contains(range(0, 1000, 2)))
    assert sum(monday.contains(range(1, 1000, 2))) < 50


def test_what_does_not_go_is_said() -> None:
    ours = tamis.build(["a", "b"])
    with pytest.raises(ValueError, match="placed by xxh3"):
        tamis.build(["a", "b"], kind="bloom").to_bytes("spark")
    with pytest.raises(ValueError, match="classic Bloom"):
        ours.to_bytes("spark")
    with pytest.raises(ValueError, match="there is tamis, datasketches"):
        ours.to_bytes("parquet")
    with pytest.raises(ValueError, match="no format"):
        tamis.open(VECTORS / "spark4_cms_longs.bin", as_="sparks")
    with pytest.raises(tamis.Error, match="is not a Bloom filter of DCSO"):
        tamis.open(VECTORS / "spark4_cms_longs.bin", as_="dcso")
    data = (VECTORS / "spark4_bloom_v2_longs.bin").read_bytes()
    with pytest.raises(tamis.Error, match="begins like a Bloom filter of Spark"):
        tamis.from_bytes(data[:-1])
    with pytest.raises(ValueError, match="all groups"):
        ours.to_bytes(group="a")


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["spark-v1", "spark-v2"])
def test_a_filter_goes_to_sparks_own_class_and_back(spark: Any, scheme: str) -> None:
    jvm = spark.sparkContext._jvm
    bloom = jvm.org.apache.spark.util.sketch.BloomFilter
    ids = tamis.build(range(0, 4000, 2), key=":long", hash=scheme, fpr=0.01)
    theirs = bloom.readFrom(jvm.java.io.ByteArrayInputStream(ids.to_bytes("spark")))
    assert [theirs.mightContainLong(i) for i in range(4000)] == ids.contains(range(4000))
    # Spark puts more keys in, and gives it back.
    for i in range(1, 2000, 2):
        theirs.putLong(i)
    out = jvm.java.io.ByteArrayOutputStream()
    theirs.writeTo(out)
    back = tamis.from_bytes(bytes(out.toByteArray()), funnel="long")
    assert all(back.contains(range(2000)))
    assert back.contains(range(6000)) == [theirs.mightContainLong(i) for i in range(6000)]
    words = tamis.build([f"wörd {i}" for i in range(1000)], hash=scheme, fpr=0.01)
    theirs = bloom.readFrom(jvm.java.io.ByteArrayInputStream(words.to_bytes(scheme)))
    probes = [f"wörd {i}" for i in range(0, 3000, 3)]
    assert [theirs.mightContainString(probe) for probe in probes] == words.contains(probes)


@pytest.mark.spark
def test_might_contain_asks_what_tamis_built(spark: Any) -> None:
    """In a query: `might_contain` takes the bytes of a filter, and the `xxhash64` of a column."""
    jvm = spark.sparkContext._jvm
    words = tamis.build([f"k{i}" for i in range(1000)], key=":xxhash64", hash="spark-v2", fpr=0.01)
    frame = spark.range(3000).selectExpr("concat('k', id) as word", "id")
    hashed = frame.selectExpr("word", "xxhash64(word) as hash").collect()
    theirs = jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(
        jvm.java.io.ByteArrayInputStream(words.to_bytes("spark"))
    )
    found = [theirs.mightContainLong(row["hash"]) for row in hashed]
    assert found == words.contains([row["word"] for row in hashed])
    assert all(found[:1000])
    # And a sketch that Spark counted.
    counted = frame.selectExpr("count_min_sketch(id % 100, 0.01d, 0.99d, 7) as sketch").collect()[0]["sketch"]
    counts = tamis.from_bytes(bytes(counted), funnel="long")
    sketch = jvm.org.apache.spark.util.sketch.CountMinSketch.readFrom(jvm.java.io.ByteArrayInputStream(bytes(counted)))
    assert counts.estimate(range(120)) == [sketch.estimateCount(i) for i in range(120)]
