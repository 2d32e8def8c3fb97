"""The documentation is run: its code, its links, its --help texts, and the names that it must define."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import msgspec
import pages
import pytest
from run_blocks import missing

import phaseprof
from phaseprof.cli import COMMANDS
from phaseprof.live.settings import CONFIG_KEYS, NAMES, PREFIX, Settings
from phaseprof.recording import format as fmt
from phaseprof.records import KINDS, VERDICTS, Finding

REFERENCE = pages.DOCS / "reference"
PAGES = pages.pages()
WITH_CODE = [page for page in PAGES if pages.python_blocks(page)]
BLOCKS = [(page, block.line) for page in WITH_CODE for block in pages.python_blocks(page)]
MODULES_WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(pages.ROOT).with_suffix("").parts)
    for path in (pages.ROOT / "phaseprof").rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


def name_of(page: Path) -> str:
    return str(page.relative_to(pages.ROOT))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "line"), BLOCKS, ids=lambda part: name_of(part) if isinstance(part, Path) else None)
def test_a_block_runs_as_it_stands_from_a_clean_folder(page: Path, line: int, tmp_path: Path) -> None:
    (block,) = [one for one in pages.python_blocks(page) if one.line == line]
    if lacking := missing(block.code):
        pytest.skip(f"no {', '.join(lacking)}")
    environ = {**os.environ, "PYTHONPATH": str(pages.ROOT), "PYTHONIOENCODING": "utf-8"}
    program = str(Path(__file__).with_name("run_blocks.py"))
    # What a framework deprecates is no error of the page's.
    strict = [] if "integrations" in page.parts else ["-W", "error"]
    command = [sys.executable, *strict, program, str(page), str(line)]

    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, env=environ)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_a_page_imports_public_names_only(page: Path) -> None:
    inner = re.compile(r"^\s*(?:from|import) phaseprof\.(?!integrations|errors)\w+", re.MULTILINE)

    assert [found for block in pages.python_blocks(page) for found in inner.findall(block.code)] == []


def test_pages_with_code_are_found() -> None:
    assert len(WITH_CODE) >= 8


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in pages.links(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        if not aim.exists() or (anchor and anchor not in pages.anchors(aim)):
            broken.append(target)

    assert not broken


def test_every_page_can_be_reached_from_the_index() -> None:
    seen: set[Path] = set()
    waiting = [pages.DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md" or not page.is_relative_to(pages.DOCS):
            continue
        seen.add(page)
        aims = (target.partition("#")[0] for target in pages.links(page))
        waiting += [(page.parent / aim).resolve() for aim in aims if aim and not re.match(r"[a-z]+:", aim)]

    assert set(pages.DOCS.rglob("*.md")) - seen == set()


@pytest.mark.parametrize("command", ["", *(name for name, _, _ in COMMANDS)])
def test_the_help_that_is_shown_is_the_help_that_is_printed(command: str) -> None:
    shown = pages.help_blocks().get(command)

    assert shown is not None, "run python tests/docs/pages.py --help-texts"
    assert pages.words_of(shown) == pages.words_of(pages.live_help(command))


def test_no_command_is_described_that_does_not_exist() -> None:
    assert set(pages.help_blocks()) == {"", *(name for name, _, _ in COMMANDS)}


@pytest.mark.parametrize("module", MODULES_WITH_EXAMPLES)
def test_examples_in_docstrings_are_right(module: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))

    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", phaseprof.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert re.search(rf"`{name}\b", text_of(REFERENCE / "api.md"))


@pytest.mark.parametrize("name", [n for n in vars(phaseprof.Profiler) if not n.startswith("_")])
def test_every_member_of_the_profiler_is_in_the_reference(name: str) -> None:
    assert re.search(rf"`\.{name}\b", text_of(REFERENCE / "api.md"))


@pytest.mark.parametrize("name", [field.name for field in fields(Finding)])
def test_every_field_of_a_finding_is_in_the_reference(name: str) -> None:
    assert f"| `{name}` |" in text_of(REFERENCE / "api.md")


@pytest.mark.parametrize("word", [*VERDICTS, *KINDS])
def test_every_verdict_and_kind_is_explained(word: str) -> None:
    assert f"| *{word}* |" in text_of(REFERENCE / "api.md")


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_is_described_with_its_default(name: str) -> None:
    default = getattr(Settings(), name)
    shown = repr(default).replace("'", '"')

    assert f"| `{name}` | `{PREFIX}{name.upper()}` | `{shown}` |" in text_of(REFERENCE / "settings.md")


@pytest.mark.parametrize("key", CONFIG_KEYS)
def test_every_key_of_a_trainers_config_is_described(key: str) -> None:
    assert f"| `{key}` | `{CONFIG_KEYS[key]}` |" in text_of(REFERENCE / "settings.md")


@pytest.mark.parametrize("record", fmt.Record.__args__, ids=lambda record: record.__name__)
def test_every_record_and_its_fields_are_described(record: type[msgspec.Struct]) -> None:
    text = text_of(REFERENCE / "recording.md")
    tag = record.__struct_config__.tag

    _, _, section = text.partition(f"### `{tag}`:")
    section = section.partition("\n### ")[0]

    assert section
    assert [name for name in record.__struct_fields__ if f"| `{name}` |" not in section] == []
