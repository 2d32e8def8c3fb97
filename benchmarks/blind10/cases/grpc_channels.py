"""Actors ask a policy over gRPC; every generation has a new actor, which calls a few times."""

import collections
import concurrent.futures
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import grpc
import numpy as np

import phaseprof as pp

GENERATIONS = driver.generations(120)


class Fleet:
    def __init__(self, address):
        self.address = address
        self.channels = {}

    def act(self, actor, observations):
        channel = grpc.insecure_channel(self.address, options=[("grpc.use_local_subchannel_pool", 1)])
        self.channels[actor] = channel
        ask = channel.unary_unary("/policy.Policy/Act")
        actions = [np.frombuffer(ask(row.tobytes()), np.float32) for row in observations]
        if not driver.LEAK:
            self.channels.pop(actor).close()
        return actions


def serve():
    def act(request, context):
        return np.tanh(np.frombuffer(request, np.float32)).tobytes()

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    handler = grpc.method_handlers_generic_handler("policy.Policy", {"Act": grpc.unary_unary_rpc_method_handler(act)})
    server.add_generic_rpc_handlers([handler])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def main():
    rng = np.random.default_rng(18)
    server, address = serve()
    fleet = Fleet(address)
    replay = collections.deque(maxlen=40)
    total = 0.0
    for generation in pp.generations(range(GENERATIONS)):
        with pp.profile_phase("observe"):
            observations = rng.normal(size=(8, 400)).astype(np.float32)
            replay.append(rng.normal(size=(200, 64)))
            driver.work(45)
        with pp.profile_phase("act"):
            actions = fleet.act(f"actor-{generation}", observations)
            driver.work(50)
        with pp.profile_phase("learn"):
            total += sum(float(action.mean()) for action in actions)
            driver.work(40)
    driver.finish()
    for channel in fleet.channels.values():
        channel.close()
    server.stop(None)


main()
