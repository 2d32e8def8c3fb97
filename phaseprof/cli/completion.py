"""``phaseprof completion``: what a shell needs to complete the command line, made of the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phaseprof.cli.output import emit

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


@dataclass(frozen=True)
class Argument:
    """One option, or one argument by position.

    Attributes:
        names: ``--out``, or ``-h`` and ``--help``; none for an argument by position.
        what: one line of help.
        takes: what its value is called; empty if it takes none.
        choices: the values that it takes, where they are few.
        repeats: whether it may be given several times.
    """

    names: tuple[str, ...]
    what: str
    takes: str
    choices: tuple[str, ...]
    repeats: bool


@dataclass(frozen=True)
class Command:
    """A command, and what may follow its name."""

    name: str
    what: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        """Those that have names."""
        return tuple(one for one in self.arguments if one.names)

    @property
    def positions(self) -> tuple[Argument, ...]:
        """Those that go by position."""
        return tuple(one for one in self.arguments if not one.names)


def add_parser(subparsers: Subparsers) -> None:
    """Add the command to the program's parser."""
    parser = subparsers.add_parser(
        "completion", help="print a script for shell completion",
        description="Print a script with which a shell completes commands, options and their values. bash: eval "
        '"$(phaseprof completion bash)" in .bashrc; zsh: phaseprof completion zsh > a file named _phaseprof in a '
        "folder of $fpath; fish: phaseprof completion fish > ~/.config/fish/completions/phaseprof.fish.",
    )  # fmt: skip
    parser.add_argument("shell", choices=tuple(_SHELLS), metavar="SHELL", help=", ".join(_SHELLS))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script; return 0."""
    from phaseprof.cli import make_whole_parser

    emit(_SHELLS[args.shell](commands_of(make_whole_parser())))
    return 0


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """Read the commands and their arguments off a parser, in its order."""
    (subparsers,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    helps = {one.dest: one.help or "" for one in subparsers._choices_actions}
    return [
        Command(name, helps[name], tuple(map(_argument, of._actions))) for name, of in subparsers.choices.items()
    ]  # fmt: skip


def _argument(action: argparse.Action) -> Argument:
    takes = "" if action.nargs == 0 else str(action.metavar or action.dest).upper()
    what = (action.help or "") % {**vars(action), "prog": "phaseprof"}
    repeats = action.nargs in ("+", "*") or isinstance(action, argparse._AppendAction)
    choices = tuple(map(str, action.choices or ()))
    return Argument(tuple(action.option_strings), " ".join(what.split()), takes, choices, repeats)


def to_bash(commands: list[Command]) -> str:
    """Return the script for bash: words where they are known, names of files where they are not."""
    first = ["--help", "--version", *(one.name for one in commands)]
    lines = [
        "# Completion of phaseprof for bash.",
        "_phaseprof() {",
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=",
        '    case "$COMP_CWORD ${COMP_WORDS[1]} $previous" in',
        f'    "1 "*) words={_quoted(" ".join(first))} ;;',
        *(f"    {places}) words={_quoted(' '.join(choices))} ;;" for choices, places in _bash_values(commands).items()),
        '    *) case "${COMP_WORDS[1]} $current" in',
        *(line for one in commands for line in _bash_words(one)),
        "        esac ;;",
        "    esac",
        '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o bashdefault -o default -F _phaseprof phaseprof",
    ]
    return "\n".join(lines)


def _bash_values(commands: list[Command]) -> dict[tuple[str, ...], str]:
    """Return values that may follow an option, none where any file may, and a pattern of what they follow."""
    found: dict[tuple[str, ...], list[str]] = {}
    for command in commands:
        for one in command.options:
            if one.takes:
                found.setdefault(one.choices, []).extend(f'*" {command.name} {name}"' for name in one.names)
    return {choices: "|".join(places) for choices, places in found.items()}


def _bash_words(command: Command) -> Iterator[str]:
    options = [name for one in command.options for name in one.names]
    yield f'        "{command.name} -"*) words={_quoted(" ".join(options))} ;;'
    if values := [word for one in command.positions for word in one.choices]:
        yield f'        "{command.name} "*) words={_quoted(" ".join(values))} ;;'


def to_zsh(commands: list[Command]) -> str:
    """Return the script for zsh, whose ``_arguments`` does the rest."""
    lines = ["#compdef phaseprof", "", "_phaseprof() {", "    local -a commands=("]
    lines += [f"        {_quoted(f'{one.name}:' + one.what.replace(':', chr(92) + ':'))}" for one in commands]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe -t commands command commands",
        "        _arguments '--help[print the commands]' '--version[print the version]'",
        "        return",
        "    fi",
        "    local name=$words[2]",
        "    shift words",
        "    (( CURRENT-- ))",
        '    case "$name" in',
    ]
    for command in commands:
        specs = " ".join(_quoted(spec) for one in command.arguments for spec in _zsh_specs(one))
        lines.append(f"    {command.name}) _arguments {specs} ;;")
    # A file in a folder of $fpath is the function's body; what is sourced names the function.
    last = 'if [ "$funcstack[1]" = _phaseprof ]; then _phaseprof "$@"; else compdef _phaseprof phaseprof; fi'
    lines += ["    esac", "}", "", last]
    return "\n".join(lines)


def _zsh_specs(one: Argument) -> Iterator[str]:
    value = f":{_zsh_text(one.takes)}:{_zsh_values(one)}" if one.takes else ""
    if not one.names:
        yield ("*" if one.repeats else "") + value
    for name in one.names:
        others = "" if one.repeats else f"({' '.join(one.names)})"
        yield f"{'*' if one.repeats else others}{name}[{_zsh_text(one.what)}]{value}"


def _zsh_values(one: Argument) -> str:
    return f"({' '.join(one.choices)})" if one.choices else "_files"


def _zsh_text(text: str) -> str:
    for char in "\\[]:":
        text = text.replace(char, f"\\{char}")
    return text


def to_fish(commands: list[Command]) -> str:
    """Return the script for fish."""
    lines = [
        "# Completion of phaseprof for fish.",
        "complete -c phaseprof -n __fish_use_subcommand -f -l version -d 'print the version'",
        "complete -c phaseprof -n __fish_use_subcommand -f -s h -l help -d 'print the commands'",
    ]
    for command in commands:
        lines.append(
            f"complete -c phaseprof -n __fish_use_subcommand -f -a {command.name} -d {_fish_quoted(command.what)}"
        )
        where = f"complete -c phaseprof -n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"{where} {_fish_words(one)}" for one in command.arguments if one.names or one.choices]
    return "\n".join(lines)


def _fish_words(one: Argument) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names]
    values = f"-f -a {_fish_quoted(' '.join(one.choices))}" if one.choices else ""
    # -r: a value must follow, which may be a file; -x: it must, and is none.
    follows = ("-x" if one.choices else "-r") if one.takes and one.names else ""
    words = [*names, follows, values.replace("-f ", "") if one.names else values, f"-d {_fish_quoted(one.what)}"]
    return " ".join(filter(None, words))


def _quoted(text: str) -> str:
    """Quote for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_SHELLS: Mapping[str, Callable[[list[Command]], str]] = {"bash": to_bash, "zsh": to_zsh, "fish": to_fish}
