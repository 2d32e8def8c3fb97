"""The reader of event files against TensorBoard's own, and against damage of any kind."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phaseprof.analysis.event_files import read_scalars
from phaseprof.analysis.event_records import masked_checksum, read_event, read_records
from phaseprof.analysis.wire import read_fields

floats = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.parametrize("kind", ["simple", "float32", "float64", "int64", "int32", "float16", "uint8"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(st.tuples(st.integers(0, 2**40), st.text(min_size=1, max_size=20), floats), max_size=8))
def test_what_tensorboard_writes_is_read_as_tensorboard_reads_it(
    kind: str, events: list[tuple[int, str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    numpy = pytest.importorskip("numpy")
    event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    summary_pb2 = pytest.importorskip("tensorboard.compat.proto.summary_pb2")
    util = pytest.importorskip("tensorboard.util.tensor_util")
    wanted, messages = [], []
    for step, tag, value in events:
        item = summary_pb2.Summary.Value(tag=tag)
        if kind == "simple":
            item.simple_value = value
            wanted.append((step, tag, value))
        else:
            kept = numpy.array(value % 100).astype(kind)
            item.tensor.CopyFrom(util.make_tensor_proto(kept))
            wanted.append((step, tag, float(util.make_ndarray(item.tensor).item())))
        messages.append(event_pb2.Event(step=step, wall_time=1.5, summary=summary_pb2.Summary(value=[item])))

    found = [scalar for message in messages for scalar in read_event(message.SerializeToString())]

    assert [(one.step, one.tag, one.value) for one in found] == wanted
    assert all(one.wall_time_s == 1.5 for one in found)


def test_files_of_tensorboard_are_read_to_their_end(tmp_path: Path) -> None:
    writing = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    event_pb2 = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    summary_pb2 = pytest.importorskip("tensorboard.compat.proto.summary_pb2")
    writer = writing.EventFileWriter(str(tmp_path))
    image = summary_pb2.Summary.Image(encoded_image_string=b"x" * 200_000)
    large = summary_pb2.Summary.Value(tag="picture", image=image)
    for step in range(50):
        value = summary_pb2.Summary.Value(tag="rss_mb", simple_value=float(step))
        for item in (value, large):
            writer.add_event(event_pb2.Event(step=step, wall_time=step, summary=summary_pb2.Summary(value=[item])))
    writer.close()

    (series,) = read_scalars(tmp_path).series

    assert series.values == tuple(map(float, range(50)))


def framed(content: bytes) -> bytes:
    head = struct.pack("<Q", len(content))
    return (
        head + struct.pack("<I", masked_checksum(head)) + content + struct.pack("<I", masked_checksum(content))
    )  # fmt: skip


def test_a_damaged_record_ends_the_file() -> None:
    good, bad = framed(b"good"), bytearray(framed(b"bad one"))
    bad[14] ^= 1

    assert list(read_records(io.BufferedReader(io.BytesIO(good + bytes(bad) + good)))) == [b"good"]  # type: ignore[arg-type]


@given(st.binary(max_size=200))
def test_any_bytes_are_fields_or_a_value_error(message: bytes) -> None:
    for read in (read_fields, read_event):
        try:
            list(read(message))  # type: ignore[operator]
        except ValueError:
            pass
