"""Names of what can be chosen, and answers with named fields."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Optional, TypedDict, Union

# What `tamis.build` makes.
Kind = Literal["blocked", "bloom", "fuse", "ribbon", "counting", "layered", "count-min"]

# What a `tamis.Filter` can be.
FilterKind = Literal["blocked", "bloom", "counting", "scalable"]

Hash = Literal[
    "xxh3", "siphash", "murmur3", "polynomial", "spark-v1", "spark-v2", "guava-32", "guava-64", "hadoop-jenkins",
    "hadoop-murmur", "dcso", "datasketches", "redis",
]

# What becomes of rows without a key.
BadRows = Literal["fail", "skip"]

Format = Literal["csv", "tsv", "lines", "ndjson", "log", "parquet"]

OutputFormat = Literal["csv", "tsv", "ndjson", "parquet"]

Quotes = Literal["csv", "none", "log"]

Path = Union[str, "os.PathLike[str]"]


class Top(NamedTuple):
    """A frequent key and its estimate; none where its counters ran full."""

    key: Any
    estimate: Optional[int]


class _GroupState(TypedDict):
    group: str
    rows: int


class GroupState(_GroupState, total=False):
    """The state of one group. Filters have those from `planned_keys` on, sketches that count those from `total` on."""

    planned_keys: int
    estimated_keys: Optional[float]
    bits: int
    hashes: int
    width: int
    ones: int
    fill: float
    fpr_now: float
    fpr_target: float
    capacity: Optional[int]
    overfull: bool
    layers: int
    layer_bits: int
    fpr_random_records: float
    rows_removed: int
    counters_full: int
    total: int
    total_full: bool
    epsilon: float
    delta: float
    bound: Optional[int]
    counters_used: int
    largest: int
    counters_per_row: int
    depth: int
    counter_bits: int
    heavy_keys: int


class _Inspection(TypedDict):
    kind: str
    hash: dict[str, Any]
    recipe: dict[str, Any]
    bytes: int
    groups: list[GroupState]
    format_version: int


class Inspection(_Inspection, total=False):
    """What ``tamis inspect --json`` tells of a file."""

    path: str
    about: dict[str, Any]
    exact_keys: bool
    heavy_share: Optional[float]


@dataclass(frozen=True)
class FilterReport:
    """What became of the records of files that were sieved. `details` has all that ``tamis filter --json`` tells."""

    records: int
    admitted: int
    rejected: int
    without_key: int
    # The rate of false positives of the filters, and the admitted records that are expected not to be in the set.
    rate: Optional[float]
    expected_false_admissions: Optional[float]
    # With strict: records that the filters let pass and the keys themselves did not.
    false_positives_removed: Optional[int]
    details: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class DedupReport:
    """What became of the records of files that were freed of repetitions. `details` has all that ``tamis dedup --json``
    tells."""

    records: int
    first: int
    repeated: int
    without_key: int
    # First occurrences that are expected to have been dropped wrongly; none with strict.
    dropped_expected: float
    # What remembers the keys.
    keys: int
    bytes: int
    details: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class GroupTest:
    """What a test found of one group. The rates are none where there were no keys outside of it."""

    group: str
    keys: int
    false_negatives: int
    false_positives: int
    negatives: int
    fpr: Optional[float]
    expected_fpr: Optional[float]
    target_fpr: Optional[float]
    details: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class TestReport:
    """What a test of filters found. `details` has all that ``tamis test --json`` tells."""

    # pytest takes classes of this name for its own.
    __test__ = False

    passed: bool
    keys: int
    false_negatives: int
    false_positives: int
    negatives: int
    groups: tuple[GroupTest, ...]
    details: Mapping[str, Any] = field(repr=False, compare=False)

    @property
    def fpr(self) -> Optional[float]:
        """The measured rate over all groups."""
        return self.false_positives / self.negatives if self.negatives else None


@dataclass(frozen=True)
class GroupCountsTest:
    """What a test found of the counts of one group: keys whose estimate is below the truth (there must be none), and over
    the bound."""

    group: str
    keys: int
    below: int
    over: int
    bound: Optional[int]
    mean_error: Optional[float]
    largest_error: Optional[int]
    details: Mapping[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class CountsTestReport:
    """What a test of counts found. `details` has all that ``tamis test --json`` tells."""

    __test__ = False

    passed: bool
    groups: tuple[GroupCountsTest, ...]
    details: Mapping[str, Any] = field(repr=False, compare=False)


def as_filter_report(told: Mapping[str, Any]) -> FilterReport:
    names = ("records", "admitted", "rejected", "without_key", "rate", "expected_false_admissions", "false_positives_removed")
    return FilterReport(**{name: told[name] for name in names}, details=told)


def as_dedup_report(told: Mapping[str, Any]) -> DedupReport:
    names = ("records", "first", "repeated", "dropped_expected", "keys", "bytes")
    return DedupReport(**{name: told[name] for name in names}, without_key=told["keyless"], details=told)


def as_test_report(told: Mapping[str, Any]) -> TestReport:
    names = ("passed", "keys", "false_negatives", "false_positives", "negatives")
    return TestReport(
        **{name: told[name] for name in names}, groups=tuple(map(_group_test, told["groups"])), details=told
    )


def _group_test(told: Mapping[str, Any]) -> GroupTest:
    return GroupTest(
        group=told["group"],
        keys=told["keys"],
        false_negatives=told["false_negatives"],
        # A group that the file does not have has no filter, and so none of these.
        false_positives=told.get("false_positives", 0),
        negatives=told.get("negatives", 0),
        fpr=told.get("fpr"),
        expected_fpr=told.get("expected_fpr"),
        target_fpr=told.get("target_fpr"),
        details=told,
    )


def as_counts_report(told: Mapping[str, Any]) -> CountsTestReport:
    names = ("group", "keys", "below", "over", "bound", "mean_error", "largest_error")
    groups = (GroupCountsTest(**{name: one[name] for name in names}, details=one) for one in told["groups"])
    return CountsTestReport(passed=told["passed"], groups=tuple(groups), details=told)
