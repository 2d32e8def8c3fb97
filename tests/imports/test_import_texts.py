"""Logs of text: by patterns, by what they say themselves, by the marks of known tools; and text of Prometheus's."""

from __future__ import annotations

from pathlib import Path

import pytest
from importing import GIB, LEAK, MIB, NOT_SAID, judged, refusal, values

from phaseprof.analysis.imports import parse_patterns
from phaseprof.analysis.imports.patterns import find_said
from phaseprof.errors import UsageError
from phaseprof.recording.reader import load_run
from phaseprof.report.export.openmetrics import write_openmetrics


def lines(template: str, n: int = 20) -> str:
    return "".join(template.format(s=s, mb=1000 + 20 * s) + "\n" for s in range(n))


# --- --pattern --------------------------------------------------------------------------------------------------------


def test_a_pattern_names_figures_and_axes(tmp_path: Path) -> None:
    text = lines("10:00:{s:02d} [worker-1] it {s}0: resident={mb}")

    run = judged(tmp_path, text, patterns=(r"(?P<time>\d\d:\d\d:\d\d).* it (?P<step>\d+): resident=(?P<rss_MB>\d+)",))

    assert run.status() == LEAK
    assert values(run.run.main, "rss_bytes")[:2] == [1000e6, 1020e6]
    assert [generation.index for generation in run.run.main.generations[:3]] == [0, 10, 20]
    assert run.run.main.generations[0].seconds == 1.0


def test_axes_on_a_line_of_their_own_hold_for_the_lines_after_it(tmp_path: Path) -> None:
    text = lines("epoch {s}\nmemory {mb}\nmemory 7")

    run = judged(tmp_path, text, patterns=(r"^epoch (?P<epoch>\d+)", r"^memory (?P<memory_MiB>\d+)"))

    assert len(run.run.main.generations) == 20


def test_processes_and_devices_by_groups(tmp_path: Path) -> None:
    text = lines("rank 0 gpu 1 {mb}\nrank 1 gpu 0 500")

    run = judged(tmp_path, text, patterns=(r"rank (?P<rank>\d) gpu (?P<gpu>\d) (?P<used_MiB>\d+)",))

    assert [[f.subject for f in found] for found in run.findings] == [["cuda1"], []]


def test_keys_and_values(tmp_path: Path) -> None:
    run = judged(tmp_path, lines("<rss_mb>{mb}</rss_mb>"), patterns=(r"<(?P<key>\w+)>(?P<value>\d+)",))

    assert run.status() == LEAK


@pytest.mark.parametrize(
    ("pattern", "why"), [(r"RSS: (\d+", "must be a regular expression"), (r"RSS: (\d+)", "must name what it finds")]
)
def test_a_wrong_pattern_is_refused(pattern: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_patterns([pattern])


@pytest.mark.parametrize(
    ("text", "pattern", "why"),
    [
        ("RSS: 1\n", r"PSS: (?P<pss_MB>\d+)", "no line of it matches"),
        ("RSS: one\n", r"RSS: (?P<rss_MB>\w+)", "line 1: rss_MB must be a size (got 'one')"),
        ("RSS: 1e999\n", r"RSS: (?P<rss_MB>\S+)", "line 1: rss_MB must be a size (got '1e999')"),
        ("RSS: 1\n", r"(?P<step>\w+): (?P<rss_MB>\S+)", "line 1: the step must be a number (got 'RSS')"),
        ("it -5 RSS: 1\n", r"it (?P<step>\S+) RSS: (?P<rss_MB>\S+)", "line 1: the step must be from 0"),
        ("RSS: 1\n", r"RSS: (?P<rss>\d+)", "the unit of 'rss' is not known"),
    ],
)
def test_what_a_pattern_finds_is_checked(tmp_path: Path, text: str, pattern: str, why: str) -> None:
    assert why in refusal(tmp_path, text, patterns=(pattern,))


# --- logs that say it themselves --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "template",
    [
        "2026-11-28 10:00:{s:02d} INFO epoch {s} loss 0.1 | RSS: {mb} MB",
        "[10:00:{s:02d}] step={s} rss={mb}MB lr=0.1",
        "iteration {s}: memory usage {mb} MB, reward 17",
        "Epoch {s} done. Process memory: {mb}.0 MB",
        "gen {s} rss_mb={mb} n_agents=16",
    ],
)
def test_a_log_that_says_its_memory(tmp_path: Path, template: str) -> None:
    run = judged(tmp_path, lines(template))

    assert run.status() == LEAK
    assert run.findings[0][0].slope == pytest.approx(20e6)


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("RSS: 1,020 MB | GPU mem: 4007 MiB", [("RSS", "1,020 MB"), ("GPU mem", "4007 MiB")]),
        ("peak GPU memory = 3.5GB", [("peak GPU memory", "3.5 GB")]),
        ("downloaded 20 MB of model", []),
        ("memory: 12", []),
        ("loss 0.5 lr 1e-4", []),
        ("VmRSS:\t  12345 kB", [("VmRSS", "12345 kB")]),
    ],
)
def test_figures_in_prose(text: str, figures: list[tuple[str, str]]) -> None:
    assert find_said(text).figures == figures


# --- known tools ------------------------------------------------------------------------------------------------------

SUMMARY = """|===========================================================================|
|                  PyTorch CUDA memory summary, device ID {device}                 |
|---------------------------------------------------------------------------|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      | {mb} MiB |  9999 MiB |     10 GiB |      9 GiB |
|       from large pool |      1 MiB |      1 MiB |     10 GiB |      9 GiB |
|---------------------------------------------------------------------------|
| Active memory         | {mb} MiB |  9999 MiB |     10 GiB |      9 GiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   | 5 GiB |  9999 MiB |     10 GiB |      9 GiB |
|===========================================================================|
"""
SMI = """Sat Nov 28 10:00:{s:02d} 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-40GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0             60W /  400W |     500MiB /  40960MiB |      0%      Default |
|   1  NVIDIA A100-SXM4-40GB          On  |   00000000:0F:00.0 Off |                    0 |
| N/A   34C    P0             60W /  400W |    {mb}MiB /  40960MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+"""


def test_memory_summaries_of_torch(tmp_path: Path) -> None:
    text = "".join(SUMMARY.format(device=1, mb=1000 + 20 * step) for step in range(20))

    run = judged(tmp_path, text)

    assert [finding.subject for finding in run.findings[0]] == ["cuda1"]
    assert values(run.run.main, "cuda1/reserved_bytes") == [5 * GIB] * 20


def test_the_screen_of_nvidia_smi(tmp_path: Path) -> None:
    run = judged(tmp_path, lines(SMI))

    assert [finding.subject for finding in run.findings[0]] == ["cuda1"]
    assert values(run.run.main, "cuda0/used_bytes") == [500 * MIB] * 20


def test_what_psutil_prints(tmp_path: Path) -> None:
    row = "2026-11-28 10:00:{s:02d},123 INFO pmem(rss={mb}000000, vms=5000000000, shared=1, text=1)"

    run = judged(tmp_path, lines(row))

    assert run.status() == LEAK
    assert run.findings[0][0].slope == pytest.approx(20e6)


def test_kubectl_without_headers(tmp_path: Path) -> None:
    run = judged(tmp_path, lines("trainer-0   980m   {mb}Mi\nother-1   1m   30Mi"))

    assert [[f.verdict for f in found] for found in run.findings] == [["leak"], []]


def test_gpustat(tmp_path: Path) -> None:
    text = lines(
        "box  Sat Nov 28 10:00:{s:02d} 2026  550.54\n"
        "[0] NVIDIA A100 | 35'C,  97 % | {mb} / 40960 MB | user(900M)\n"
        "[1] NVIDIA A100 | 35'C,   0 % |     5 / 40960 MB |"
    )

    run = judged(tmp_path, text)

    assert [finding.subject for finding in run.findings[0]] == ["cuda0"]
    assert values(run.run.main, "cuda1/used_bytes") == [5 * MIB] * 20


def test_gpustat_as_json(tmp_path: Path) -> None:
    row = (
        '{{"hostname": "box", "query_time": "2026-11-28T10:00:{s:02d}", "gpus": [{{"index": 3, "name": "A100", '
        '"utilization.gpu": 97, "memory.used": {mb}, "memory.total": 40960}}]}}'
    )

    run = judged(tmp_path, lines(row), name="gpus.jsonl")

    assert [finding.subject for finding in run.findings[0]] == ["cuda3"]


@pytest.mark.parametrize(
    "header", ["# gpu     fb   bar1\n# Idx     MB     MB\n", "# gpu   pwr gtemp    sm   mem   enc    fb\n"]
)
def test_nvidia_smi_dmon(tmp_path: Path, header: str) -> None:
    row = "    0   {mb}      3" if "bar1" in header else "    0    60    34    97     5     0  {mb}"

    run = judged(tmp_path, header + lines(row))

    assert [finding.subject for finding in run.findings[0]] == ["cuda0"]
    assert values(run.run.main, "cuda0/used_bytes")[0] == 1000 * MIB


def test_docker_stats_as_json_lines(tmp_path: Path) -> None:
    row = '{{"Name": "web", "MemUsage": "{mb}MiB / 7.6GiB", "MemPerc": "12.1%", "PIDs": "7"}}'

    run = judged(tmp_path, lines(row), name="docker.jsonl")

    assert run.status() == LEAK


def test_a_trainers_state(tmp_path: Path) -> None:
    rows = ",".join(f'{{"step": {s}, "loss": 0.5, "gpu_mem_allocated_mib": {100 + s}}}' for s in range(20))

    run = judged(tmp_path, f'{{"global_step": 20, "log_history": [{rows}]}}', name="trainer_state.json")

    assert [finding.subject for finding in run.findings[0]] == ["cuda0"]


def test_a_trainers_state_without_memory_is_told_by_its_name(tmp_path: Path) -> None:
    text = '{"global_step": 2,\n "log_history": [{"step": 1, "loss": 0.5}]}'

    assert "it is Transformers' trainer_state.json, and no name in it is about memory" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        '{{"history": [{rows}]}}',
        '{{"meta": {{"runs": {{"records": [{rows}]}}}}, "n": 1}}',
        '[{rows}]',
    ],
)  # fmt: skip
def test_rows_are_found_in_a_document(tmp_path: Path, text: str) -> None:
    rows = ",".join(f'{{"iteration": {s}, "perf": {{"rss_mib": {100 + s}}}}}' for s in range(20))

    assert judged(tmp_path, text.format(rows=rows), name="log.json").status() == LEAK


@pytest.mark.parametrize(
    "text",
    ['{{"step": {steps}, "rss_mib": {steps}}}', '{{"columns": ["step", "rss_mib"], "index": [], "data": {pairs}}}'],
)
def test_columns_of_a_document_become_rows(tmp_path: Path, text: str) -> None:
    steps, pairs = list(range(20)), [[s, s] for s in range(20)]

    assert judged(tmp_path, text.format(steps=steps, pairs=pairs), name="log.json").status() == LEAK


def test_settings_in_a_row_are_no_readings(tmp_path: Path) -> None:
    row = '{{"training_iteration": {s}, "config": {{"memory_mb": 7}}, "perf": {{"ram_util_percent": {s}}}}}'

    run = judged(tmp_path, lines(row), name="result.json")

    assert (run.status(), run.answer()) == (NOT_SAID, "not judged")
    assert judged(tmp_path / "again", lines(row), "perf.ram_util_percent=64GiB", name="again.json").status() == LEAK


# --- Prometheus -------------------------------------------------------------------------------------------------------

SCRAPE = """# HELP process_resident_memory_bytes Resident memory size in bytes.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes{{job="train",instance="a:1"}} {mb}e6
process_resident_memory_bytes{{job="train",instance="b:1"}} 5e8 17{s:02d}000000000
# TYPE python_gc_collections counter
python_gc_collections_total{{generation="0"}} 39.0
# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{{gpu="2",UUID="GPU-1",device="nvidia2"}} {mb}
process_open_fds 8.0"""


def test_scrapes_follow_each_other(tmp_path: Path) -> None:
    run = judged(tmp_path, lines(SCRAPE), "MiB", name="scrapes.prom")

    found = {}
    for process, findings in zip(run.run.processes, run.findings, strict=True):
        assert process.header is not None
        found[process.header.settings.get("process")] = [finding.verdict for finding in findings]
    assert found["a:1 train"] == ["leak"]
    assert found["b:1 train"] == []


def test_our_own_text_is_read_back(tmp_path: Path) -> None:
    run = judged(tmp_path, "step,gpu_allocated_mib,rss_mib\n" + lines("{s},7,{mb}"), name="log.csv")
    write_openmetrics(run.run.path, tmp_path / "run.prom")

    back = judged(tmp_path / "again", (tmp_path / "run.prom").read_text(), name="back.prom").run.main

    assert back.series["history", "cuda0/allocated_bytes"].last == 7 * MIB
    assert back.series["history", "rss_bytes"].last == 1380 * MIB


def test_an_answer_of_prometheus(tmp_path: Path) -> None:
    points = [[1700000000 + 15 * s, str(10**9 + 2 * 10**7 * s)] for s in range(20)]
    name = '"__name__": "container_memory_working_set_bytes", "pod": "train-0"'
    text = f'{{"status": "success", "data": {{"result": [{{"metric": {{{name}}}, "values": {points}}}]}}}}'

    run = judged(tmp_path, text.replace("'", '"'), name="answer.json")

    assert run.status() == LEAK
    assert "Container memory" in run.findings[0][0].summary


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# TYPE rss_bytes gauge\nrss_bytes twelve\n", "line 2: a sample must be a name, labels and a number"),
        ("# TYPE rss_bytes gauge\nrss_bytes 1e300\n", "line 2: rss_bytes is more than any memory holds (got 1e+300)"),
        ("# TYPE up gauge\nup 1\n", "Prometheus text, and none of its gauges is about memory (got up)"),
    ],
)
def test_bad_text_of_prometheus_is_refused(tmp_path: Path, text: str, why: str) -> None:
    assert why in refusal(tmp_path, text)


def test_not_a_number_was_not_measured(tmp_path: Path) -> None:
    text = "# TYPE rss_bytes gauge\nrss_bytes NaN\nrss_bytes 5\n"

    assert load_run(judged(tmp_path, text).run.path).main.series["scrape", "rss_bytes"].values == [5.0]
