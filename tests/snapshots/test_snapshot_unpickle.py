"""Reading pickles of strangers: no code runs, no bomb goes off, every failure is one line."""

from __future__ import annotations

import gc
import gzip
import pickle
import pickletools
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from snapshot_builders import RECORDED, block, live_blocks, segment, snapshot

from phaseprof.analysis.snapshots.files import read_folder
from phaseprof.analysis.snapshots.unpickle import load_snapshot
from phaseprof.errors import SnapshotError

GOOD = pickle.dumps(live_blocks({512: 3}), protocol=4)


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return Path.mkdir, (self.target,)


def put(tmp_path: Path, content: bytes, name: str = "snapshot_step_1.pickle") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SnapshotError) as caught:
        load_snapshot(path)
    return str(caught.value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_binary_protocol_is_read(tmp_path: Path, protocol: int) -> None:
    root = snapshot(
        [segment([block(512, requested_size=n, address=2**47 + n) for n in range(300)])], unknown=[1.5, None]
    )

    loaded, n_bytes = load_snapshot(put(tmp_path, pickle.dumps(root, protocol)))

    assert loaded == root
    assert n_bytes == len(pickle.dumps(root, protocol))


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*/*.gz")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_files_load_as_the_plain_unpickler_has_them(path: Path) -> None:
    loaded, _ = load_snapshot(path)

    assert loaded == pickle.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_payload_does_not_run(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "made by the payload"
    root = snapshot([segment([block(512)])], extra=Payload(target))

    message = refusal(put(tmp_path, pickle.dumps(root, protocol)))

    assert not target.exists()
    assert "snapshot_step_1.pickle" in message


def test_the_same_payload_runs_in_a_plain_unpickler(tmp_path: Path) -> None:
    """The twin of the test above: its payload is a real one."""
    target = tmp_path / "made by the payload"

    pickle.loads(pickle.dumps(snapshot([], extra=Payload(target))))

    assert target.is_dir()


def test_a_refused_opcode_is_named(tmp_path: Path) -> None:
    message = refusal(put(tmp_path, pickle.dumps(Payload(tmp_path / "x"), 4)))

    assert "plain data" in message
    assert "may run code" in message


@pytest.mark.parametrize("name", list("cRi\x81\x93\x92QPBCIVL"))
def test_opcodes_that_no_snapshot_has_are_refused(tmp_path: Path, name: str) -> None:
    hostile = b"\x80\x04}" + name.encode("latin1") + GOOD[3:]

    assert "opcode" in refusal(put(tmp_path, hostile))


def test_an_enormous_memo_index_takes_no_memory(tmp_path: Path) -> None:
    bomb = put(tmp_path, b"\x80\x04}r" + struct.pack("<I", 2**31 - 1) + b".")
    tracemalloc.start()
    try:
        message = refusal(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert "more entries than it has" in message
    assert peak < 4 << 20


def test_an_honest_memo_index_is_taken(tmp_path: Path) -> None:
    root = snapshot([], texts=[f"text {n}" for n in range(400)])
    content = pickle.dumps(root, 2)

    loaded, _ = load_snapshot(put(tmp_path, content))

    assert "LONG_BINPUT" in {op.name for op, _, _ in pickletools.genops(content)}
    assert loaded == root


@pytest.mark.parametrize("opcode", [b"X" + struct.pack("<I", 2**32 - 1), b"\x8d" + struct.pack("<Q", 2**60)])
def test_announced_lengths_are_not_believed(tmp_path: Path, opcode: bytes) -> None:
    assert "not a readable snapshot" in refusal(put(tmp_path, b"\x80\x04" + opcode + b"abc."))


def test_a_small_gzip_that_inflates_beyond_the_cap_is_refused(tmp_path: Path) -> None:
    bomb = put(tmp_path, gzip.compress(bytes(64 << 20)), "snapshot_step_1.pickle.gz")
    tracemalloc.start()
    try:
        with pytest.raises(SnapshotError, match=r"more than 1\.00 MiB"):
            load_snapshot(bomb, max_bytes=1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "it is empty"),
        (b"step,bytes\n1,2\n", "not a pickle"),
        (GOOD[:-1], "cut short"),
        (GOOD[: len(GOOD) // 2], "cut short"),
        (GOOD + b"more", "bytes after its end"),
        (gzip.compress(GOOD, mtime=0)[:-10], "cut short"),
        (gzip.compress(GOOD, mtime=0)[:20] + b"?????", "gzip stream"),
        (b"\x80\x04e.", "damaged"),
    ],
)
def test_broken_files_name_the_rule_in_one_line(tmp_path: Path, content: bytes, rule: str) -> None:
    message = refusal(put(tmp_path, content))

    assert rule in message
    assert "\n" not in message


def test_a_hostile_file_name_prints_on_one_line(tmp_path: Path) -> None:
    message = refusal(put(tmp_path, b"", "evil\n\x1b[31mname.pickle"))

    assert message.isprintable()


def test_gzip_members_in_a_row_are_one_file(tmp_path: Path) -> None:
    path = put(tmp_path, gzip.compress(GOOD[:50]) + gzip.compress(GOOD[50:]))

    assert load_snapshot(path)[0] == pickle.loads(GOOD)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert "nowhere.pickle" in refusal(tmp_path / "nowhere.pickle")


def test_lists_nested_very_deep_are_no_snapshot(tmp_path: Path) -> None:
    put(tmp_path, b"\x80\x04" + b"]" * 100_000 + b"a" * 99_999 + b".")

    assert "not laid out like a snapshot" in read_folder(tmp_path).errors[0]


def test_a_segment_repeated_by_reference_is_not_walked_for_ever(tmp_path: Path) -> None:
    blocks = [block(512)] * 3000
    put(tmp_path, pickle.dumps(snapshot([segment(blocks)] * 3000)))

    assert "more blocks than it has bytes" in read_folder(tmp_path).errors[0]


def test_the_collector_is_left_as_it_was(tmp_path: Path) -> None:
    good, bad = put(tmp_path, GOOD), put(tmp_path, b"\x80\x04e.", "bad.pickle")
    gc.disable()
    try:
        load_snapshot(good)
        off_after_loading = not gc.isenabled()
    finally:
        gc.enable()
    refusal(bad)

    assert off_after_loading
    assert gc.isenabled()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_snapshots_never_raise_anything_else(tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(gzip.decompress((RECORDED / "graphs_and_streams" / "snapshot_step_3.pickle.gz").read_bytes()))
    for _ in range(data.draw(st.integers(0, 3))):
        whole[data.draw(st.integers(2, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    put(tmp_path, bytes(whole[:cut]))

    found = read_folder(tmp_path)

    assert len(found.errors) + len(found.snapshots) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    root=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["segments", "blocks", "device", "size", "state", "frames", "device_traces", "history"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_foreign_data_is_read_as_empty_or_refused(tmp_path: Path, root: object) -> None:
    put(tmp_path, pickle.dumps(root))

    found = read_folder(tmp_path)

    assert len(found.errors) + len(found.snapshots) == 1
