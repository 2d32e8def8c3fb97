"""Run the blind set and score it.

    python run.py [--jobs N] [--python PATH] [--pythonpath PATH] [--keep DIR] [--only NAME ...] [--scale S]

Rules of the score:
- A leak finding is one whose verdict has the word "leak". A leaky program is detected when it has one.
- Phase, subject and holder are judged on one finding, the best: the leak finding with most of them right.
  Phase: equal to an accepted one (or its last part after / or >).  Subject: an accepted word is in the finding's subject, kind
  or metric ("=word": equals the subject).  Holder: an accepted word is in the finding's holder. Where nothing in Python
  holds it (null), the holder is right when the finding names none.  Case counts.
- Whole: all of them.  False alarm: a healthy program with any leak finding.
- A program that fails, or runs past its timeout, counts as not detected, and is listed.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NO_HOLDER = re.compile(r"nothing|nobody|no python|no holder|not held|not examined|native|unknown|none|cycle|collector", re.I)


def run(case, variant, options, keep):
    out = keep / f"{case.stem}-{variant}.json"
    if out.exists():
        out.unlink()
    env = {k: v for k, v in os.environ.items() if not k.startswith("PHASEPROF")}
    env["BLIND_OUT"] = str(out)
    env["BLIND_SCALE"] = str(options.scale)
    if options.pythonpath:
        env["PYTHONPATH"] = options.pythonpath
    started = time.monotonic()
    error = ""
    with tempfile.TemporaryDirectory(prefix="blind-") as folder:
        try:
            done = subprocess.run([options.python, str(case), variant], env=env, cwd=folder, timeout=options.timeout,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                error = f"exit {done.returncode}: {done.stdout.strip().splitlines()[-1:]}"
        except subprocess.TimeoutExpired:
            error = f"timeout of {options.timeout} s"
    result = None
    if not error:
        try:
            result = json.loads(out.read_text())
        except (OSError, ValueError) as problem:
            error = f"no result: {problem}"
    return {"result": result, "error": error, "seconds": time.monotonic() - started}


def text(value):
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def is_leak(finding):
    return "leak" in text(finding.get("verdict")).lower()


def phase_right(finding, answer):
    phase = text(finding.get("phase"))
    return phase in answer["phase"] or re.split(r"\s*[/>]\s*", phase)[-1] in answer["phase"]


def subject_right(finding, answer):
    subject = text(finding.get("subject"))
    seen = " ".join(text(finding.get(k)) for k in ("subject", "kind", "metric"))
    return any(word[1:] == subject if word.startswith("=") else word in seen for word in answer["subject"])


def holder_right(finding, answer):
    holder = finding.get("holder")
    seen = "" if not holder else text(holder)
    accepted = [None] if answer["holder"] is None else answer["holder"]
    if None in accepted and (not seen or NO_HOLDER.search(seen)):
        return True
    return any(word is not None and word in seen for word in accepted)


def judge(findings, answer):
    """(phase, subject, holder) of the best leak finding, and that finding."""
    best, parts = None, (False, False, False)
    for finding in filter(is_leak, findings):
        now = phase_right(finding, answer), subject_right(finding, answer), holder_right(finding, answer)
        if best is None or sum(now) > sum(parts):
            best, parts = finding, now
    return parts, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pythonpath", default=os.environ.get("PYTHONPATH", ""), help="where phaseprof is")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what the programs write (default: a new one in /tmp)")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="of the length of a generation (1: about 0.1 s)")
    parser.add_argument("--timeout", type=float, default=90)
    parser.add_argument("--cases", type=pathlib.Path, default=HERE / "cases")
    parser.add_argument("--answers", type=pathlib.Path, default=HERE / "answers.json")
    options = parser.parse_args()
    options.pythonpath = os.pathsep.join(str(pathlib.Path(p).resolve()) for p in options.pythonpath.split(os.pathsep) if p)
    answers = json.loads(options.answers.read_text())
    names = options.only or sorted(answers)
    keep = (options.keep or pathlib.Path(tempfile.mkdtemp(prefix="blind3-"))).resolve()
    keep.mkdir(parents=True, exist_ok=True)

    jobs = [(name, variant) for name in names for variant in ("leak", "healthy")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = dict(zip(jobs, pool.map(lambda job: run(options.cases.resolve() / f"{job[0]}.py", job[1], options, keep), jobs)))

    mark = {True: "yes", False: "-"}
    print(f"{'':22}{'detected':>9}{'phase':>7}{'subject':>9}{'holder':>8}{'whole':>7}{'more':>6}   {'healthy':28}{'s':>5}{'s':>5}")
    totals = dict.fromkeys(("detected", "phase", "subject", "holder", "whole", "false", "failed"), 0)
    notes = []
    for name in names:
        answer, leaky, healthy = answers[name], runs[name, "leak"], runs[name, "healthy"]
        findings = (leaky["result"] or {}).get("findings", [])
        (phase, subject, holder), best = judge(findings, answer)
        detected = best is not None
        whole = detected and phase and subject and holder
        alarms = [f for f in (healthy["result"] or {}).get("findings", []) if is_leak(f)]
        others = len((healthy["result"] or {}).get("findings", [])) - len(alarms)
        state = "FAILED" if healthy["error"] else f"{len(alarms)} FALSE" if alarms else f"clean, {others} others" if others else "clean"
        for key, value in (("detected", detected), ("phase", phase), ("subject", subject), ("holder", holder), ("whole", whole),
                           ("false", bool(alarms))):
            totals[key] += bool(value)
        more = max(0, sum(map(is_leak, findings)) - 1)
        shown = "FAILED" if leaky["error"] else mark[detected]
        print(f"{name:22}{shown:>9}{mark[phase]:>7}{mark[subject]:>9}{mark[holder]:>8}{mark[whole]:>7}{more:6}   {state:28}"
              f"{leaky['seconds']:5.0f}{healthy['seconds']:5.0f}")
        for variant, one in (("leak", leaky), ("healthy", healthy)):
            if one["error"]:
                totals["failed"] += 1
                notes.append(f"{name} {variant}: FAILED: {one['error']}")
        if not whole and not leaky["error"]:
            said = (f"phase={best.get('phase')!r} kind={best.get('kind')!r} subject={best.get('subject')!r} holder={best.get('holder')!r}"
                    if best else f"no leak finding; verdict: {text((leaky['result'] or {}).get('verdict'))[:300]}")
            notes.append(f"{name} leak: {said}\n    wanted phase {answer['phase']} subject {answer['subject']} holder {answer['holder']}")
        notes += [f"{name} healthy: FALSE ALARM: {text(f.get('text') or f.get('summary'))}" for f in alarms]
    n = len(names)
    print(f"\nleaks: {n}; detected {totals['detected']}, phase right {totals['phase']}, subject right {totals['subject']}, "
          f"holder right {totals['holder']}, whole {totals['whole']}; false alarms {totals['false']} of {n} healthy; "
          f"programs that failed: {totals['failed']}")
    if notes:
        print("\n" + "\n".join(notes))
    print(f"\nWhat the programs wrote: {keep}")
    (keep / "score.json").write_text(json.dumps({"totals": totals, "pairs": n}, indent=1))


if __name__ == "__main__":
    main()
