"""What the header says of a process: its commit from git's files, its script's name, and no program is run for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from phaseprof import load
from phaseprof.live.origin import git_commit, script_name

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environ = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(folder), "-c", "protocol.file.allow=always", *words]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    git(folder, "commit", "-q", "--allow-empty", "-m", "two")
    return folder


def expected(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")[:12]


@needs_git
def test_a_branch_read_from_a_folder_inside(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)

    assert git_commit(repository / "a" / "b") == expected(repository)


@needs_git
def test_packed_references(repository: Path) -> None:
    git(repository, "tag", "-a", "v1", "-m", "tag")
    git(repository, "pack-refs", "--all")

    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    assert git_commit(repository) == expected(repository)


@needs_git
def test_a_commit_without_a_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach", "HEAD~1")

    assert git_commit(repository) == expected(repository)


@needs_git
def test_a_worktree_has_its_own_commit(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"), "HEAD~1", "-b", "other")

    assert git_commit(tmp_path / "other") == expected(tmp_path / "other") != expected(repository)
    git(repository, "pack-refs", "--all")
    assert git_commit(tmp_path / "other") == expected(tmp_path / "other")


@needs_git
def test_a_submodule(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(repository), "inner")

    assert git_commit(outer / "inner") == expected(repository)


@needs_git
def test_a_branch_without_a_commit_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    assert git_commit(tmp_path) == ""


def damaged(tmp_path: Path, head: bytes) -> Path:
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_bytes(head)
    return tmp_path


@pytest.mark.parametrize(
    "head",
    [
        b"", b"\xff\xfe", b"ref: refs/heads/\xff\x00", b"ref: ../../secret", b"ref: refs/../../secret", b"g" * 40,
        b"ref: refs/heads/" + b"a" * 10_000, b"0" * 39, b"ref: " + b"refs/heads/self",
    ],
)  # fmt: skip
def test_a_damaged_head_gives_no_commit(tmp_path: Path, head: bytes) -> None:
    folder = damaged(tmp_path, head)
    (folder / "secret").write_text("0" * 40)
    (folder / ".git" / "refs" / "heads").mkdir()
    (folder / ".git" / "refs" / "heads" / "self").write_text("ref: refs/heads/self")

    assert git_commit(folder) == ""


@pytest.mark.parametrize(
    "text", [b"", b"gitdir: /nowhere", b"gitdir: \x00", b"something else", b"gitdir: " + b"a" * 9000]
)
def test_a_damaged_link_gives_no_commit(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".git").write_bytes(text)

    assert git_commit(tmp_path) == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    folder = damaged(tmp_path, b"ref: refs/pipe")
    os.mkfifo(folder / ".git" / "refs" / "pipe")

    assert git_commit(folder) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_repository_that_may_not_be_read_gives_no_commit(tmp_path: Path) -> None:
    folder = damaged(tmp_path, b"0" * 40)
    (folder / ".git").chmod(0)

    try:
        assert git_commit(folder) == ""
    finally:
        (folder / ".git").chmod(0o700)


def test_starting_runs_no_program_and_stores_no_argument(tmp_path: Path) -> None:
    program = tmp_path / "train it.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys
            started = []
            def hook(event, args):
                if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn"):
                    started.append((event, args))
            sys.addaudithook(hook)
            import phaseprof
            profiler = phaseprof.Profiler("run")
            with profiler.generation(), profiler.phase("train"):
                pass
            profiler.close()
            print(started)
            """
        )
    )

    command = [sys.executable, str(program), "--password", "hunter2"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == "[]\n"
    header = load(tmp_path / "run").main.header
    assert header is not None
    assert header.argv == ["train it.py"]
    assert sys.platform != "linux" or header.platform.startswith("Linux-")
    assert all(b"hunter2" not in file.read_bytes() for file in (tmp_path / "run").iterdir())


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["/home/me/train.py", "--token=1"], "train.py"), (["-c"], "-c"), ([], ""), ([3], ""), (None, ""), ([""], ""),
        (["/site/pkg/__main__.py", "x"], "pkg/__main__.py"), (["a\ud800b"], "a\ud800b"),
    ],
)  # fmt: skip
def test_the_scripts_name(monkeypatch: pytest.MonkeyPatch, argv: object, name: str) -> None:
    monkeypatch.setattr(sys, "argv", argv)

    assert script_name() == name


@pytest.mark.parametrize("name", ["RANK", "SLURM_PROCID", "WORLD_SIZE", "LOCAL_RANK"])
@pytest.mark.parametrize("value", ["9" * 5000, "-1", "x", "\u0661"])
def test_ranks_that_are_no_numbers_are_passed_over(tmp_path: Path, name: str, value: str) -> None:
    script = "import sys, phaseprof; phaseprof.Profiler(sys.argv[1]).close()"
    environ = {**os.environ, name: value}

    subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], env=environ, check=True, timeout=60)

    header = load(tmp_path / "run").main.header
    assert header is not None
    assert (header.rank, header.local_rank, header.world_size) == (0, 0, 1)


def test_a_proxy_in_place_of_a_library_is_not_asked(tmp_path: Path) -> None:
    script = """
    import sys
    class Proxy:
        def __getattribute__(self, name):
            print("asked for", name)
            raise RuntimeError
    sys.modules["torch"] = Proxy()
    import phaseprof
    phaseprof.Profiler(sys.argv[1]).close()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "run")]

    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)

    assert done.stdout == ""
