"""Scores are asked of a server over HTTP, each evaluator over a connection that is kept open while it lasts."""

import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        values = np.frombuffer(self.rfile.read(int(self.headers["Content-Length"])))
        body = f"{values.mean():.6f}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Evaluators:
    """A new evaluator, with its own connection, every fourth generation."""

    def __init__(self, port):
        self.port = port
        self.connections = {}

    def score(self, generation, samples):
        name = f"evaluator-{generation // 4}"
        if name not in self.connections:
            if not driver.LEAK:
                self.retire()
            self.connections[name] = HTTPConnection("127.0.0.1", self.port)
        connection = self.connections[name]
        connection.request("POST", "/score", samples.tobytes())
        return float(connection.getresponse().read())

    def retire(self):
        for connection in self.connections.values():
            connection.close()
        self.connections.clear()


def main():
    rng = np.random.default_rng(29)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    evaluators = Evaluators(server.server_address[1])
    window = np.zeros((40, 300, 64))
    for generation in pp.generations(range(driver.generations(120))):
        with pp.profile_phase("rollout"):
            window[generation % 40] = rng.normal(size=(300, 64))
            driver.wait(180)
            driver.work(20)
        with pp.profile_phase("evaluate"):
            score = evaluators.score(generation, window[generation % 40])
            driver.work(30)
        with pp.profile_phase("train"):
            window[generation % 40] += score
            driver.wait(280)
            driver.work(20)
    driver.finish()


main()
