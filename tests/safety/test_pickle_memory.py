"""No pickle that is accepted takes more memory than was allowed, whatever its opcodes make of few bytes."""

from __future__ import annotations

import gzip
import pickle
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phaseprof.analysis.snapshots.footprint import close_bound, quick_bound
from phaseprof.analysis.snapshots.unpickle import MEMORY_BY_BYTE, load_snapshot
from phaseprof.errors import SnapshotError


def text(n: int, width: int = 3) -> bytes:
    return b"\x8c" + bytes([width]) + b"".join(bytes([33 + n // 90**place % 90]) for place in range(width))


def put(k: int) -> bytes:
    return b"q%c" % k if k < 256 else b"r" + struct.pack("<I", k)


def filled(items: list[bytes], group: int) -> bytes:
    """A list of dicts with so many items each."""
    parts = [b"".join(items[at : at + group]) for at in range(0, len(items), group)]
    return b"](" + b"".join(b"}(" + part + b"u" for part in parts) + b"e"


BOMBS: dict[str, Callable[[int], bytes]] = {
    "empty dicts": lambda n: b"(" + b"}" * n + b"t",
    "empty lists": lambda n: b"(" + b"]" * n + b"t",
    "dicts with one item": lambda n: b"](" + b"}NNs" * n + b"e",
    "lists with one item": lambda n: b"](" + b"]Na" * n + b"e",
    "tuples with one item": lambda n: b"](" + b"N\x85" * n + b"e",
    "marked tuples": lambda n: b"](" + b"(Nt" * n + b"e",
    "tuples of three": lambda n: b"](" + b"NNN\x87" * n + b"e",
    "tuples in each other": lambda n: b"N" + b"\x85" * n,
    "items on the stack": lambda n: b"(" + b"N" * n + b"t",
    "a long list": lambda n: b"](" + b"N" * n + b"e",
    "a list item by item": lambda n: b"]" + b"Na" * n,
    "memo": lambda n: b"]" + b"\x94" * n,
    "memo of dicts": lambda n: b"](" + b"}\x94" * n + b"e",
    "memo by number": lambda n: b"](" + b"".join(b"]" + put(k) for k in range(n)) + b"e",
    "numbers": lambda n: b"](" + b"J\xff\xff\xff\x7f" * n + b"e",
    "small numbers": lambda n: b"](" + b"M\xff\xff" * n + b"e",
    "long numbers": lambda n: b"](" + b"\x8a\x05\xff\xff\xff\xff\x7f" * n + b"e",
    "one large dict": lambda n: b"}(" + b"".join(b"J" + struct.pack("<i", k + 70_000) + b"N" for k in range(n)) + b"u",
    "a large dict of texts": lambda n: b"}(" + b"".join(text(k) + b"N" for k in range(n)) + b"u",
    "a large dict item by item": lambda n: b"}" + b"".join(text(k) + b"Ns" for k in range(n)),
    "a large dict by tens": lambda n: b"}" + b"".join(
        b"(" + b"".join(text(k) + b"N" for k in range(at, at + 10)) + b"u" for at in range(0, n, 10)
    ),
    "dicts of six": lambda n: filled([b"K%cN" % (k % 6) for k in range(n)], 6),
    "dicts of eleven": lambda n: filled([b"K%cN" % (k % 11) for k in range(n)], 11),
    "dicts of 171": lambda n: filled([b"K%cN" % (k % 171) for k in range(n)], 171),
    "dicts of 5462": lambda n: filled([b"M" + struct.pack("<H", 300 + k % 5462) + b"N" for k in range(n)], 5462),
    "short texts": lambda n: b"](" + b"\x8c\x02\xc4\x80" * n + b"e",
    "dicts of short texts": lambda n: filled(
        [b"\x8c\x02" + chr(256 + k % 1366).encode() + b"N" for k in range(n)], 1366
    ),
    "a long text of wide characters": lambda n: b"X" + struct.pack("<I", n + 4) + b"a" * n + "\U0001f600".encode(),
    "lists in each other": lambda n: b"]" * n + b"a" * (n - 1),
    "frames": lambda n: b"\x95" + struct.pack("<Q", 2 * n + 3) + b"](" + b"N\x94" * n + b"e",
}  # fmt: skip


def bomb(kind: str, n: int) -> bytes:
    return b"\x80\x04" + BOMBS[kind](n) + b"."


def largest_accepted(kind: str, path: Path, max_bytes: int) -> int:
    """Return the most items, to a twentieth, with which the bomb is let through."""
    low, high = 1, max_bytes
    while high - low > max(1, low // 20):
        n = (low + high) // 2
        content = bomb(kind, n)
        is_in = len(content) <= max_bytes and (
            quick_bound(content, content.count(b"\x8c")) <= MEMORY_BY_BYTE * max_bytes
            or close_bound(content) <= MEMORY_BY_BYTE * max_bytes
        )
        low, high = (n, high) if is_in else (low, n)
    path.write_bytes(bomb(kind, low))
    return low


@pytest.mark.parametrize("kind", BOMBS)
def test_the_largest_bomb_that_is_let_through_stays_below_the_limit(tmp_path: Path, kind: str) -> None:
    max_bytes = 300_000
    largest_accepted(kind, tmp_path / "bomb.pickle", max_bytes)
    tracemalloc.start()
    try:
        root, _ = load_snapshot(tmp_path / "bomb.pickle", max_bytes=max_bytes)
        _, peak = tracemalloc.get_traced_memory()
    except SnapshotError as error:  # it is nested too deep to be freed, for example: that it is refused is enough
        assert "\n" not in str(error)
        _, peak = tracemalloc.get_traced_memory()
    else:
        del root
    finally:
        tracemalloc.stop()

    assert peak <= MEMORY_BY_BYTE * max_bytes


ATOMS = st.sampled_from([b"N", b"K\x01", b"M\xff\xff", b"J\xff\xff\xff\x7f", b"}", b"]", b")", b"\x8c\x02\xc4\x80"])


@st.composite
def plain_data(draw: st.DrawFn) -> bytes:
    """Opcodes of plain data in some order that the unpickler can follow."""
    item = draw(ATOMS)
    for _ in range(draw(st.integers(0, 6))):
        wrap = draw(st.sampled_from(["single", "tuple", "list", "dict", "memo", "one by one"]))
        n = draw(st.sampled_from([1, 2, 7]))
        keys = b"".join(b"K%c" % k + item for k in range(n))
        item = {
            "single": item + b"\x85", "tuple": b"(" + item * n + b"t", "list": b"](" + item * n + b"e",
            "dict": b"}(" + keys + b"u", "memo": item + b"\x94", "one by one": b"]" + (item + b"a") * n,
        }[wrap]  # fmt: skip
    return item


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(item=plain_data(), n=st.sampled_from([1, 400, 3000]))
def test_both_bounds_hold_for_what_is_made_at_random(tmp_path: Path, item: bytes, n: int) -> None:
    content = b"\x80\x04](" + item * min(n, 1 + 1_000_000 // len(item)) + b"e."
    (tmp_path / "some.pickle").write_bytes(content)
    tracemalloc.start()
    try:
        load_snapshot(tmp_path / "some.pickle")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    slack = 200_000  # what matching takes for itself, however long the pickle is
    assert peak <= close_bound(content) + slack
    assert peak <= quick_bound(content, content.count(b"\x8c")) + slack


def test_the_close_bound_is_near_for_what_torch_writes() -> None:
    block = {"size": 512, "requested_size": 500, "address": 2**47, "state": "active_allocated", "frames": []}
    root = {"segments": [{"blocks": [dict(block, address=2**47 + n) for n in range(20_000)], "device": 0}]}
    content = pickle.dumps(root, 4)
    tracemalloc.start()
    try:
        kept = pickle.loads(content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak <= close_bound(content) <= 3 * peak
    assert kept["segments"][0]["device"] == 0


def test_a_bomb_is_refused_in_one_line_before_it_is_built(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pickle.gz"
    path.write_bytes(gzip.compress(bomb("empty dicts", 8 << 20), 9))

    with pytest.raises(SnapshotError) as refused:
        load_snapshot(path)

    assert "of memory" in str(refused.value)
    assert "--max-file-size" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_entry_that_is_numbered_far_beyond_the_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.pickle").write_bytes(b"\x80\x02]" + b"r" + struct.pack("<I", 5_000_000) + b"N" * 8_000_000 + b".")

    with pytest.raises(SnapshotError, match="more entries than it has"):
        load_snapshot(tmp_path / "bomb.pickle")


@pytest.mark.parametrize("level", [1, 9])
def test_streams_within_streams_are_read_no_further_than_the_limit(tmp_path: Path, level: int) -> None:
    (tmp_path / "bomb.pickle.gz").write_bytes(gzip.compress(gzip.compress(bytes(100 << 20), level), level))

    with pytest.raises(SnapshotError, match="not a pickle"):
        load_snapshot(tmp_path / "bomb.pickle.gz")

    (tmp_path / "zlib.pickle").write_bytes(zlib.compress(pickle.dumps({"segments": []})))
    with pytest.raises(SnapshotError, match="not a pickle"):
        load_snapshot(tmp_path / "zlib.pickle")
