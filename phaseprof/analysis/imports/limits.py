"""What bounds the reading of a foreign file: bytes, lines, readings and names; each bound is told when it is hit."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from phaseprof.errors import UsageError

MAX_FILE_BYTES = 4 << 30  # after decompression: a small .gz may unpack to anything
MAX_LINE_BYTES = 16 << 20
MAX_READINGS = 20_000_000  # 40 bytes each in memory
MAX_NAMES = 100_000  # a file with more series than this has a value where a name should be
MAX_DOCUMENT_BYTES = 256 << 20  # a JSON document is held whole while it is read

_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class ImportFailure(UsageError):
    """A foreign file cannot become a run: it breaks a rule of its format, or needs an answer from the user."""


def fail(file: Path, rule: str, next_step: str, *, line: int | None = None) -> ImportFailure:
    """Word an error in one line: which file and line, the rule with what was found, and what to do."""
    where = f"{file}" if line is None else f"{file} line {line}"
    return ImportFailure(" ".join(f"cannot import {where}: {rule}; {next_step}".split()))


def open_binary(file: Path) -> io.BufferedIOBase:
    """Open a file for reading bytes, unpacking gzip by its first two bytes and not by its name."""
    try:
        with file.open("rb") as probe:
            start = probe.read(2)
            if start in _UTF16:
                return _in_utf8(file, probe)
        return gzip.open(file, "rb") if start == _GZIP else file.open("rb")
    except OSError as error:
        raise fail(file, error.strerror or "it cannot be opened", "check the path and its permissions") from error


def _in_utf8(file: Path, stream: io.BufferedReader) -> io.BytesIO:
    """Recode what a shell of Windows redirected into a file."""
    stream.seek(0)
    content = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise fail(file, "text in UTF-16 over 256 MiB is not read", "give it in UTF-8")
    try:
        return io.BytesIO(content.decode("utf-16").encode())
    except UnicodeDecodeError as error:
        raise fail(file, "it is not UTF-8 text, nor UTF-16", "give a text export of it") from error


def read_start(file: Path, n_bytes: int = 65536) -> bytes:
    """Return the first bytes after unpacking, to tell formats apart."""
    with open_binary(file) as stream:
        try:
            return stream.read(n_bytes)
        except (OSError, EOFError, zlib.error) as error:
            raise fail(file, f"its gzip data is damaged ({error})", "copy the file again") from error


def iter_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, text without its end) of each line.

    Raises:
        ImportFailure: not UTF-8 text, a line or the file too long, or damaged gzip data.
    """
    total = number = 0
    with open_binary(file) as stream:
        try:
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                total += len(raw)
                if len(raw) > MAX_LINE_BYTES:
                    raise fail(file, "a line is over 16 MiB", "give a text file with one reading a line", line=number)
                if total > MAX_FILE_BYTES:
                    raise fail(file, "it is over 4 GiB", "split it, one part for each process", line=number)
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            rule = f"it is not UTF-8 text (byte {error.start})"
            raise fail(file, rule, "give a text export of it", line=number) from error
        except (OSError, EOFError, zlib.error) as error:
            raise fail(file, f"reading stopped ({error})", "copy the file again", line=number) from error


def read_document(file: Path) -> bytes:
    """Return the whole of a JSON document of at most 256 MiB."""
    with open_binary(file) as stream:
        try:
            content = stream.read(MAX_DOCUMENT_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise fail(file, f"reading stopped ({error})", "copy the file again") from error
    if len(content) > MAX_DOCUMENT_BYTES:
        raise fail(file, "a JSON document over 256 MiB is not read", "write one JSON object a line instead")
    return content
