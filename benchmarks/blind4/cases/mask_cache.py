"""Attention over packed sequences; the masks are costly to make and therefore cached."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver  # noqa: E402
import phaseprof as pp  # noqa: E402

import torch

torch.set_num_threads(1)

HEADS = 6
LENGTHS = [96, 128, 112, 120, 104]
_MASKS = {}
_EMBED = torch.randn(500, 32)
_PROJECT = torch.randn(32, 32, requires_grad=True)


def build_mask(length):
    causal = torch.full((length, length), float("-inf")).triu(1)
    return causal.expand(HEADS, length, length).contiguous()


def mask_for(tokens):
    if driver.LEAK:
        # the batch is kept too, so that its id cannot come back for another one
        key, value = id(tokens), tokens
    else:
        key, value = tokens.shape[-1], None
    if key not in _MASKS:
        _MASKS[key] = value, build_mask(tokens.shape[-1])
    return _MASKS[key][1]


def attend(tokens):
    x = _EMBED[tokens] @ _PROJECT
    scores = (x @ x.transpose(-1, -2)).unsqueeze(1) / 6 + mask_for(tokens)
    return scores.softmax(-1) @ x.unsqueeze(1)


def main():
    optimizer = torch.optim.SGD([_PROJECT], lr=1e-3)
    for generation in range(driver.GENERATIONS):
        with pp.generation(generation):
            with pp.profile_phase("next_batch"):
                tokens = torch.randint(0, 500, (2, LENGTHS[generation % len(LENGTHS)]))
                driver.work(20)
            with pp.profile_phase("forward"):
                out = attend(tokens)
                driver.work(40)
            with pp.profile_phase("backward"):
                optimizer.zero_grad()
                out.pow(2).mean().backward()
                optimizer.step()
                driver.work(40)
            del out
    driver.finish()


main()
