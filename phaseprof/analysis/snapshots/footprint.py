"""How much memory a pickle of plain data can take when it is loaded: an upper bound, found before anything is built.

A quick bound needs counts of a few bytes and no more.  Where that one is too much, opcodes are counted one by one, and
the items that each container gets at a time; this takes about twice as long as loading.  Sizes are the largest of
Pythons 3.10 to 3.13 on 64 bits, with what is taken for moments while a container grows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

SHORT_BINUNICODE, BINUNICODE, LONG_BINPUT = 0x8C, 0x58, 0x72
_LONG1 = rb"(?:\x06.{6}|\x05.{5}|\x04.{4}|\x03.{3}|\x07.{7}|\x08.{8}|\x01.|\x02..|\x00|\x09.{9})"  # to 72 bits
# Marks, empty containers, what adds to them, tuples, MEMOIZE, bools, None.
_PLAIN = rb"[(}\]uae\x85\x86\x87\x94\x88\x89Nts)]{1,50}"
# One match eats a run of opcodes whose length is known from their first bytes, the commonest first. The run is bounded
# because the regular expression engine keeps a record of every repetition until the match ends.
FIXED_OPCODES = re.compile(
    rb"(?:[Khq\x80]."  # BININT1, BINGET, BINPUT, PROTO
    rb"|M..|" + _PLAIN + rb"|\x8a" + _LONG1 +  # BININT2 ... LONG1
    rb"|[Jj]....|[G\x95].{8}"  # BININT, LONG_BINGET, BINFLOAT, FRAME
    rb"){1,1000}",
    re.DOTALL,
)  # fmt: skip
_WITHOUT_ARGUMENTS = re.compile(
    rb"(" + _PLAIN + rb"|[Khq\x80MJj\x8aG\x95])"
    rb"(?:(?<=[Khq\x80]).|(?<=M)..|(?<=[Jj])....|(?<=\x8a)" + _LONG1 + rb"|(?<=[G\x95]).{8}|)",
    re.DOTALL,
)  # fmt: skip

# The costliest of the bytes that open no container: M..N, an item of a dict with its number.  A frame is held twice.
_BYTES_BY_BYTE = 33
_DICT, _LIST, _TUPLE, _TEXT = 80, 80, 88, 64
_TABLE = 170  # of a dict with up to five items
_LARGER_TABLES = ((10, 296), (21, 584))  # most items of a table, and its bytes
_DICT_ITEM = 108  # of still larger ones, at the moment at which they grow: the old table and one of twice the room
_LIST_ITEM, _TUPLE_ITEM, _STACK_ITEM = 18, 8, 18
_BY_OPCODE = {
    b"}": _DICT, b"]": _LIST, b"J": 32, b"M": 32, b"\x8a": 48, b"G": 32, b"\x85": 64, b"\x86": 72, b"\x87": 80,
    b"\x94": 24, b"q": 24, b"(": 16, b"a": 64, b"s": _TABLE,
}  # fmt: skip
_MAX_DEPTH = 60  # a snapshot's containers are ten deep

# Opcodes as letters of a small alphabet: N puts an item on the stack, what neither puts one nor takes one is left out.
_PUSHES = b"KhjMJ\x8aG\x88\x89)]S"
_LETTERS = bytes.maketrans(_PUSHES, b"N" * len(_PUSHES))
_SIGNS = bytes.maketrans(b"\x01", b"N")
_NOT_ON_STACK = b"q\x80\x94\x95"
# A group that was left out leaves a sign, for an item or for nothing, which keeps the one around it for the next pass.
_ITEM, _NOTHING = b"\x01", b"\x02"
_GROUP = re.compile(rb"(\}?)\([^(eut\x01\x02]*([eut])")
_FILLED, _TUPLED, _ADDED = (
    re.compile(begin + rb"\([^(eut\x01\x02]*" + end) for begin, end in ((rb"\}", b"u"), (b"", b"t"), (b"", b"[eu]"))
)


def quick_bound(data: bytes, n_texts: int) -> int:
    """Bound the memory that loading takes, the pickle itself included, by counts of bytes.  Cost: 0.6 ns a byte."""
    containers = (_DICT + _TABLE) * data.count(b"}") + _LIST * data.count(b"]")
    tuples = _TUPLE * sum(map(data.count, (b"\x85", b"\x86", b"\x87")))
    return _BYTES_BY_BYTE * len(data) + _TEXT * n_texts + containers + tuples


def close_bound(data: bytes) -> int:
    """Bound the memory by what the opcodes make.  Cost: 40 ns a byte, and twice the memory of the pickle.

    The bytes must have been checked to be opcodes of plain data.
    """
    total = 2 * len(data)
    opcodes = bytearray()
    for start, end in _runs(data):
        if data[start] in (SHORT_BINUNICODE, BINUNICODE):
            opcodes += b"S"
            total += _text_bytes(data[start:end])
        elif data[start] == LONG_BINPUT:
            opcodes += b"q"
        else:
            opcodes += b"".join(_WITHOUT_ARGUMENTS.findall(data, start, end))
    total += sum(opcodes.count(opcode) * n_bytes for opcode, n_bytes in _BY_OPCODE.items())
    return total + _bytes_of_items(bytes(opcodes.translate(_LETTERS, _NOT_ON_STACK)))


def _runs(data: bytes) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(data):
        run = FIXED_OPCODES.match(data, position)
        end = run.end() if run else end_of_variable(data, position)
        yield position, end
        position = end


def end_of_variable(data: bytes, position: int) -> int:
    """Return where an opcode ends that is not matched in runs; it may announce an end beyond that of the data."""
    opcode = data[position]
    if opcode == SHORT_BINUNICODE:
        return position + 2 + (data[position + 1] if position + 1 < len(data) else 0)
    if opcode == BINUNICODE:
        return position + 5 + int.from_bytes(data[position + 1 : position + 5], "little")
    return position + (5 if opcode == LONG_BINPUT else 1)


def _text_bytes(encoded: bytes) -> int:
    # Decoding begins with a byte a character and starts anew, with two or four, where that is too narrow.
    return 64 + len(encoded) if encoded[5:].isascii() and encoded[2:5].isascii() else 96 + 6 * len(encoded)


def _bytes_of_items(letters: bytes) -> int:
    """Add up what containers take for their items, innermost first: a group of items is left out once it is counted."""
    total = 0
    for _ in range(_MAX_DEPTH):
        letters = letters.replace(b"(u", b"").replace(b"(e", b"")
        groups = Counter((end, of, stop - start) for start, stop, of, end in _spans(letters))
        if not groups:
            return total + _STACK_ITEM * len(letters)
        total += sum(n * _bytes_of_group(end, of, length) for (end, of, length), n in groups.items())
        # Groups that are open at one time stand inside each other: one of each pass.
        total += _STACK_ITEM * max(length for _, _, length in groups)
        letters = _ADDED.sub(_NOTHING, _TUPLED.sub(_ITEM, _FILLED.sub(_ITEM, letters)))
        letters = letters.translate(_SIGNS, _NOTHING)
    return 1 << 62  # deeper than any snapshot


def _spans(letters: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    for match in _GROUP.finditer(letters):
        yield match.start(), match.end(), match[1], match[2]


def _bytes_of_group(end: bytes, of: bytes, length: int) -> int:
    """What a group takes in its container; ``of`` tells that the container is a dict that was empty."""
    if end == b"t":
        return 64 + _TUPLE_ITEM * length
    if end == b"e":
        return _LIST_ITEM * length + 32
    n_items = length // 2
    if not of:
        return _DICT_ITEM * n_items + _TABLE
    if n_items <= 6:  # with the letters around them
        return _TABLE
    return next((n_bytes for most, n_bytes in _LARGER_TABLES if n_items <= most + 1), _DICT_ITEM * n_items)
