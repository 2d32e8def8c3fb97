"""Recordings to report on, made record by record, and golden files that pin the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from page_browser import Browser

from phaseprof.recording import format as fmt
from phaseprof.recording.model import ProcessRun
from phaseprof.recording.reader import Run
from phaseprof.records import Evidence, Finding

GOLDEN = Path(__file__).parent / "golden"
PAGE = 4096
MIB = 1 << 20
GIB = 1 << 30
SECOND = 10**9
PHASES = ("evaluate_population", "train_population", "evolve_population")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the file of that name, or write it when asked to."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert path.exists(), f"{path.name} is not there; run pytest --update-golden and read what it wrote"
        assert text + "\n" == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Browser:
    """The browser as a reader has it: light, nothing noted yet."""
    browser.prefer("light")
    browser.console.clear()
    browser.requests.clear()
    return browser


def build(records: Iterable[fmt.Record]) -> ProcessRun:
    """Take records into a model."""
    process = ProcessRun()
    for record in records:
        process.add(record)
    process.fold()
    return process


def header(*, rank: int = 0, world_size: int = 1, pid: int = 1234) -> fmt.Header:
    return fmt.Header(
        format=1, phaseprof="0.1.0", pid=pid, started_unix_s=1.7e9, started_ns=0, page_bytes=PAGE, rank=rank,
        world_size=world_size, host="trainbox", argv=["train.py", "--seed", "3"], python="3.11.9", torch="2.13.0",
        platform="Linux-6.1-x86_64", git_commit="0a1b2c3", settings={"budget": "0.02"},
    )  # fmt: skip


def statm(rss_bytes: float, *, shared_bytes: float = 256 * MIB) -> str:
    """Return the text of /proc/self/statm for a process of this size."""
    vms, rss, shared = (int(n) // PAGE for n in (2 * rss_bytes, rss_bytes, shared_bytes))
    return f"{vms} {rss} {shared} 1 0 9 0"


def leaky_records(n_generations: int = 5) -> Iterable[fmt.Record]:
    """An evolutionary trainer that keeps 16 environments a generation; every number follows from the turn's."""
    yield header()
    yield fmt.Watch("TradingEnvironment", 2, 2)
    yield fmt.Watch("DDPGAgent", 16, 17)
    yield fmt.Label(0, "generation", "generation")
    for at, phase in enumerate(PHASES, 1):
        yield fmt.Label(at, phase, "phase")
    rss, t = 4 * GIB, 0
    counts = {"TradingEnvironment": 2, "DDPGAgent": 16, "list": 12345, "dict": 8901, "ndarray": 1234, "Tensor": 567}
    figures = {
        "rss_bytes": rss, "vms_bytes": 2 * rss, "anonymous_bytes": rss - 256 * MIB,
        "cuda0/allocated_bytes": 150 * MIB, "cuda0/reserved_bytes": 512 * MIB,
    }  # fmt: skip
    yield fmt.SnapshotTaken(t, -1, "Trainer initialized (baseline)", figures, counts)
    for g in range(n_generations):
        yield from leaky_generation(g, rss + g * GIB, t := t + 100 * SECOND)
    yield fmt.Large(t, n_generations - 1, 50 * 10**6, [
        ("ndarray", 2345 * MIB, "trainer.replay_buffer.obs", "float32 (600000, 1024)"), ("dict", 60 * MIB, "", ""),
    ])  # fmt: skip
    yield fmt.Cost(t, n_generations - 1, 500.0, {"points": 0.5, "census": 4.0, "holders": 1.5}, {"holders": 3})
    yield fmt.Note(t, "graph is no longer measured: torch is not imported")
    yield fmt.End(t + SECOND, "closed")


def leaky_generation(g: int, rss: float, t: int) -> Iterable[fmt.Record]:
    yield fmt.GenerationBegin(t, g, g + 1)
    yield fmt.Point(t, 0, fmt.ENTER, g, statm(rss), _device(g))
    for at, grown in enumerate((512 * MIB, 768 * MIB, GIB), 1):
        t += 10 * SECOND
        yield fmt.Point(t, at, fmt.ENTER, g, statm(rss), _device(g))
        yield fmt.Point(t + SECOND, at, fmt.EXIT, g, statm(rss + grown), _device(g))
    yield fmt.Point(t + 2 * SECOND, 0, fmt.EXIT, g, statm(rss + GIB), _device(g))
    yield fmt.GenerationEnd(t + 2 * SECOND, g, 32.0 + 8 * g, 6400)
    yield fmt.Metrics(t + 3 * SECOND, g, {
        "watched/TradingEnvironment": 2 + 16 * (g + 1), "watched/DDPGAgent": 17,
        "count/trading.TradingEnvironment": 2 + 16 * (g + 1), "count/builtins.list": 12345 + 10 * g,
        "tracked/experience": 500 * MIB + 8 * MIB * g, "tracked/trainer.stats": 2 * MIB + 12 * 1024 * g,
        "tracked/policy.state_dict": 45 * MIB, "tracked_total_bytes": 547 * MIB + (8 * MIB + 12 * 1024) * g,
        "storages/cpu_bytes": 600 * MIB + 100 * MIB * g, "storages/cpu_count": 900, "arrays_bytes": GIB + 700 * MIB * g,
        "python_blocks": 10**6 + 10**5 * g, "malloc_in_use_bytes": 2 * GIB + 850 * MIB * g,
        "malloc_free_bytes": 64 * MIB + 2 * MIB * g, "limit_bytes": 175 * GIB,
    })  # fmt: skip
    yield fmt.Violation(t + 3 * SECOND, g, "TradingEnvironment", 2 + 16 * (g + 1), 2, 2, PHASES[0], 0)


def _device(g: int) -> dict[str, list[int]]:
    return {"cuda0": [2048 * MIB + 41 * MIB * g, 3072 * MIB, 2048 * MIB]}


def leak_finding() -> Finding:
    return Finding(
        "leak", "objects", phase="evaluate_population", subject="TradingEnvironment",
        holder=("trainer (Trainer)", ".eval_envs (list, 82)", "[-1] TradingEnvironment"),
        metric="watched/TradingEnvironment", slope=16.0, slope_unit="objects/generation", slope_low=15.5,
        slope_high=16.5, since_generation=1, since_ordinal=0, confidence=0.98, eta_s=7200.0,
        summary="TradingEnvironment is born in evaluate_population and never freed: 16 more each generation.",
        advice="Pass the trainer's own environments to run_episode() instead of making new ones.",
        evidence=(Evidence("generation end", "watched/TradingEnvironment", (0, 1, 2, 3, 4), (18, 34, 50, 66, 82)),),
    )  # fmt: skip


@pytest.fixture
def leaky() -> ProcessRun:
    return build(leaky_records())


@pytest.fixture
def empty() -> ProcessRun:
    return build([header()])


@pytest.fixture
def run(leaky: ProcessRun) -> Run:
    return Run(None, [leaky])


@pytest.fixture
def leak() -> Finding:
    return leak_finding()
