"""Laying out text: what a terminal takes, foreign labels, widths."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phaseprof.report.text import Column, Style, clean, columns, elide, fit, join, style_for, text_width, wrap

UTF8 = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
LATIN1 = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
STYLES = st.builds(Style, st.booleans(), st.integers(50, 80))


@pytest.mark.parametrize(
    ("stream", "environ", "unicode"),
    [
        (UTF8, {}, True),
        (LATIN1, {}, False),
        (io.StringIO(), {}, True),
        (UTF8, {"PHASEPROF_ASCII": "1"}, False),
        (UTF8, {"PHASEPROF_ASCII": "0"}, True),
        (UTF8, {"NO_COLOR": "1"}, False),
        (UTF8, {"TERM": "dumb"}, False),
        (UTF8, {"TERM": "xterm-256color"}, True),
    ],
)
def test_symbols_only_where_the_terminal_takes_them(stream: object, environ: dict[str, str], unicode: bool) -> None:
    assert style_for(stream, environ).unicode is unicode


@pytest.mark.parametrize(("columns_set", "width"), [("60", 60), ("200", 80), ("3", 50), ("wide", 80), ("", 80)])
def test_width_follows_narrow_terminals_only(columns_set: str, width: int) -> None:
    assert style_for(UTF8, {"COLUMNS": columns_set}).width == width


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("plain label", "plain label"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("right\u202eto left", "right to left"),
        ("<b>markup</b>", "<b>markup</b>"),
        ("漢字 🚀", "漢字 🚀"),
        ("", ""),
    ],
)
def test_labels_are_made_safe(label: str, shown: str) -> None:
    assert clean(label, Style()) == shown


def test_ascii_style_escapes_what_it_cannot_show() -> None:
    assert clean("é🚀", Style(unicode=False)) == "\\xe9\\U0001f680"


@given(st.text(max_size=300), STYLES)
def test_no_control_character_survives(label: str, style: Style) -> None:
    shown = clean(label, style)

    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@given(st.text(max_size=300), st.integers(1, 90), STYLES)
def test_fitted_text_is_never_too_wide(label: str, width: int, style: Style) -> None:
    assert text_width(fit(label, width, style)) <= width


def test_a_shortened_label_keeps_both_ends() -> None:
    shown = fit("evaluate_population of the first island", 20, Style())

    assert shown == "evaluate_popu…island"


@given(st.text(max_size=500), st.integers(2, 90), STYLES)
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int, style: Style) -> None:
    lines = wrap(text, width, style)

    assert max(map(text_width, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(clean(text, style).split())


@given(st.lists(st.tuples(st.text(max_size=120), st.text("0123456789.", max_size=12)), max_size=5), STYLES)
def test_tables_stay_within_the_width(rows: list[tuple[str, str]], style: Style) -> None:
    lines = columns((Column("Label", 30), Column("RAM")), rows, style)

    assert max(map(text_width, lines)) <= style.width
    assert len(lines) == 2 + len(rows)


def test_wide_characters_keep_columns_aligned() -> None:
    lines = columns((Column("Label", 10), Column("N", 4)), [("漢字", "1"), ("abc", "22")], Style())

    assert [text_width(line) for line in lines[2:]] == [15, 15]


@given(st.lists(st.text(max_size=200).filter(lambda t: "\n" not in t), max_size=4), STYLES)
def test_joined_lines_fit(lines: list[str], style: Style) -> None:
    safe = [clean(line, style) for line in lines]

    assert all(text_width(line) <= style.width for line in join(safe, style).split("\n"))


def test_a_note_that_does_not_fit_goes_below() -> None:
    row, note = columns((Column("Type", 30),), [("ndarray",)], Style(), notes=["<- " + "x" * 60])[2:]

    assert row == "ndarray"
    assert note == "    <- " + "x" * 60


@pytest.mark.parametrize(("n", "shown"), [(0, (0, 0)), (31, (31, 0)), (32, (12, 18)), (10**6, (12, 18))])
def test_long_lists_lose_their_middle(n: int, shown: tuple[int, int]) -> None:
    assert elide(n) == shown
