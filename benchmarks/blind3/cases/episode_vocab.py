"""A tokenizer gives each new word an entry in a table of the module, and words carry the number of their episode."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import driver  # noqa: E402
import sys as system

import phaseprof as pp

TOKEN_IDS = {}


def token_id(word):
    word = system.intern(word)
    found = TOKEN_IDS.get(word)
    if found is None:
        found = TOKEN_IDS[word] = len(TOKEN_IDS)
    return found


def words(episode, step):
    if driver.LEAK:
        return [f"episode:{episode}/step:{step}/object:{k}/at:{k * step}" for k in range(8)]
    return [f"episode:{episode % 60}/step:{step}/object:{k}/at:{k * step}" for k in range(8)]


def main():
    lengths = []
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("play"):
            driver.work(40)
        with pp.profile_phase("tokenize"):
            for episode in range(5 * generation, 5 * generation + 5):
                ids = [token_id(word) for step in range(40) for word in words(episode, step)]
                lengths.append(len(ids))
            del lengths[:-50]
        with pp.profile_phase("train"):
            driver.work(55)
    driver.finish()


main()
