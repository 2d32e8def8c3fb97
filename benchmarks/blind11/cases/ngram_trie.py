"""Drafts for speculative decoding come from a trie of what was sampled in the last twenty generations."""

import collections
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

WINDOW = 20


class DraftTrie:
    def __init__(self):
        self.root = {"count": 0, "next": {}}

    def insert(self, tokens):
        node = self.root
        for token in tokens:
            node = node["next"].setdefault(token, {"count": 0, "next": {}})
            node["count"] += 1

    def remove(self, tokens):
        node = self.root
        for token in tokens:
            child = node["next"][token]
            child["count"] -= 1
            if child["count"] == 0 and not driver.LEAK:
                del node["next"][token]
                return
            node = child

    def draft(self, tokens):
        node, drafted = self.root, []
        for token in tokens:
            node = node["next"].get(token)
            if node is None:
                return drafted
        while node["next"]:
            token, node = max(node["next"].items(), key=lambda item: item[1]["count"])
            drafted.append(token)
        return drafted


def main():
    rng = np.random.default_rng(8)
    trie = DraftTrie()
    window = collections.deque()
    accepted = 0
    for _ in pp.generations(range(driver.generations(60))):
        with pp.profile_phase("sample"):
            sequences = [tuple(row) for row in rng.integers(0, 4_000, size=(150, 6)).tolist()]
            driver.work(50)
        with pp.profile_phase("index"):
            for tokens in sequences:
                trie.insert(tokens)
            window.append(sequences)
            if len(window) > WINDOW:
                for tokens in window.popleft():
                    trie.remove(tokens)
            driver.work(30)
        with pp.profile_phase("draft"):
            accepted += sum(len(trie.draft(tokens[:2])) for tokens in sequences[:60])
            driver.work(30)
    driver.finish()


main()
