"""Which keys of the program's own dicts may be stored: those that are names, and not what somebody keeps under them."""

from __future__ import annotations

import re

KEY = "[key]"
_LONGEST = 40
_MOST_DIGITS = 4
_LONGEST_WORD = 20
# Words of a name: capitals, capitalised or small letters, of any alphabet, with their number.
_WORD = re.compile(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_]?[^\W\d_A-Z]+|\d+")
_DIGIT_WITHIN = re.compile(r"[^\W\d_]\d+[^\W\d_]")
_POSITION_DIGITS = 3
_SHORT_PART = 12  # conv2d, seq2seq


def looks_like_name(key: object) -> bool:
    """Say whether a key is a name that a programmer gave: an identifier of at most 40 characters, made of words.

    Tokens, checksums and numbers are identifiers too at times, but have many digits, digits within, or no words.

    >>> [looks_like_name(key) for key in ("losses", "conv2d_weight", "lastEpochLoss", "layer1", "_LOCAL_RANK")]
    [True, True, True, True, True]
    >>> [looks_like_name(key) for key in ("a b", "me@example.org", "4f2a", "d41d8cd98f00b204", "sk_live_4eC39HqLy", 7)]
    [False, False, False, False, False, False]
    """
    if type(key) is not str or not key.isidentifier() or len(key) > _LONGEST:
        return False
    if sum(map(str.isdigit, key)) > _MOST_DIGITS:
        return False
    if any(_DIGIT_WITHIN.search(part) and not (len(part) <= _SHORT_PART and part.islower()) for part in key.split("_")):
        return False
    return all(map(_is_of_words, key.split("_")))


def _is_of_words(part: str) -> bool:
    """Random letters change between small and capital ones all the time, or never end."""
    words = [word for word in _WORD.findall(part) if not word.isdigit()]
    return all(len(word) <= _LONGEST_WORD for word in words) and (len(words) <= 4 or len(part) >= 3 * len(words))


def bare_name(key: object) -> str:
    """Return a key that is a name as it is, or ``[key]``."""
    return str(key) if looks_like_name(key) else KEY


def shown_key(key: object) -> str:
    """Return a key of a dict as a step of a path: ``['losses']``, or ``[key]`` for all that is no name."""
    return f"[{key!r}]" if looks_like_name(key) else KEY


def shown_attribute(key: object) -> str:
    """Return a key of a namespace as a step of a path: ``.losses``; a program may put anything there as well.

    A position of up to three digits, as torch numbers the layers of a model, is none of the program's secrets.
    """
    is_position = type(key) is str and key.isdecimal() and len(key) <= _POSITION_DIGITS
    return f".{key}" if is_position or looks_like_name(key) else KEY
