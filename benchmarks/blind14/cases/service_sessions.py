"""Programs are evaluated by a service on the web (here: a class); its answers bring cookies for the client."""

import sys
from collections import deque
from email.message import Message
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import Request

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp

ADDRESS = "http://evaluator.example.org/runs/"


class Answer:
    def __init__(self, score, run, token):
        self.score = score
        self.headers = Message()
        self.headers["Set-Cookie"] = f"run-{run}={token}; Path=/"

    def info(self):
        return self.headers


class Client:
    def __init__(self, rng):
        self.rng = rng
        self.jar = CookieJar()
        self.runs = 0

    def evaluate(self, program):
        self.runs += 1
        request = Request(f"{ADDRESS}{self.runs}")
        answer = Answer(float(program.mean()), self.runs, self.rng.bytes(1900).hex())
        self.jar.extract_cookies(answer, request)
        return answer.score

    def summary(self):
        """Ask for the summary of this generation, with all cookies of its runs, and begin a new session."""
        request = Request(f"{ADDRESS}summary")
        self.jar.add_cookie_header(request)
        if not driver.LEAK:
            self.jar.clear_session_cookies()
        return len(request.get_header("Cookie", ""))


def main():
    rng = np.random.default_rng(109)
    client = Client(rng)
    elite = deque(maxlen=40)
    scores = deque(maxlen=50)
    for generation in pp.generations(range(driver.generations(130))):
        with pp.profile_phase("breed"):
            programs = rng.random((8, 500))
            driver.work(53)
        with pp.profile_phase("evaluate"):
            results = [client.evaluate(program) for program in programs]
            driver.work(53)
        with pp.profile_phase("summarise"):
            client.summary()
            elite.append(programs[int(np.argmax(results))].copy())
            scores.append(max(results))
            driver.work(15)
    driver.finish()


main()
