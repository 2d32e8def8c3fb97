"""Programs that know nothing of phaseprof: they say that they are ready, work, and at the end say what is there."""

from __future__ import annotations

# What every program begins with: tell, and wait for a file; and at the end, all that an observer might leave behind.
COMMON = '''
import gc, hashlib, itertools, logging, os, signal, sys, threading, time, tracemalloc
import numpy as np

FOLDER = sys.argv[1]

def tell(name):
    open(os.path.join(FOLDER, name), "w").close()

def wait_for(name):
    while not os.path.exists(os.path.join(FOLDER, name)):
        time.sleep(0.02)

def fork_hooks():
    def hook(): pass
    os.register_at_fork(after_in_child=hook)
    return sum(len(one) for one in gc.get_referrers(hook) if type(one) is list)

def is_of_phaseprof(one):
    home = type(one).__module__
    return isinstance(home, str) and home.startswith("phaseprof")

def what_is_there():
    print("threads", sorted(thread.name for thread in threading.enumerate()))
    print("modules", sorted(name for name in sys.modules if name.startswith("phaseprof")))
    print("path", sys.path)
    print("collector", gc.callbacks, gc.isenabled(), gc.get_threshold())
    print("fork hooks", fork_hooks())
    gc.collect()
    print("objects", sorted({str(one) for one in gc.get_objects() if is_of_phaseprof(one)}))
    print("signals", [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)])
    print("loggers", sorted(logging.root.manager.loggerDict), "interval", sys.getswitchinterval())
    print("hooks", sys.excepthook is sys.__excepthook__, sys.gettrace(), sys.getprofile())
    print("traces", tracemalloc.is_tracing())
    print("finders", [str(one).split(" at ")[0] for one in sys.meta_path])
    print("files", sorted(os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) > 199))
    print("names", sorted(globals()), flush=True)
'''

TRAINER = (
    COMMON
    + '''
class Episode:
    def __init__(self, n):
        self.steps = [float(i) for i in range(n)]

class Trainer:
    def __init__(self, leaks):
        self.kept, self.leaks, self.weights = [], leaks, np.ones(8)
        self.digest = hashlib.sha256()

    def epoch(self, number):
        episode = Episode(5000)
        for step in episode.steps[:200]:
            self.weights = (self.weights * 1.0001 + np.sin(step * self.weights)) % 3.0
        self.digest.update(self.weights.tobytes())
        if self.leaks:
            self.kept.append(episode)

def main():
    trainer = Trainer(sys.argv[2] == "leak")
    tell("ready")
    for number in itertools.count():
        trainer.epoch(number)
        if number == 300:
            print("result", trainer.digest.hexdigest())
        if number >= 300 and os.path.exists(os.path.join(FOLDER, "observed")):
            return
        time.sleep(float(sys.argv[3]))

main()
what_is_there()
'''
)

# The main thread waits for another, which works and leaks.
THREADED = (
    COMMON
    + '''
class Batch:
    def __init__(self):
        self.rows = [bytes(4000 + i) for i in range(10)]

kept = []

def work():
    for number in range(100_000):
        kept.append(Batch())
        time.sleep(0.02)
        if os.path.exists(os.path.join(FOLDER, "observed")):
            return

worker = threading.Thread(target=work, name="worker")
worker.start()
tell("ready")
worker.join()
what_is_there()
'''
)

# The main thread waits for what somebody types.
TYPING = (
    COMMON
    + '''
tell("ready")
print("typed", input(), flush=True)
what_is_there()
'''
)

# The main thread is in one long call of a library after the other.
IN_C = (
    COMMON
    + '''
matrix = np.random.default_rng(0).random((600, 600))
tell("ready")
while not os.path.exists(os.path.join(FOLDER, "observed")):
    time.sleep(0.7)
    matrix = np.tanh(matrix @ matrix.T)
print("result", bool(np.isfinite(matrix).all()))
what_is_there()
'''
)

# The main thread sleeps in the system; what it says is what it would have said.
ASLEEP = (
    COMMON
    + """
import asyncio, select, socket, subprocess

T = float(sys.argv[3])
here, there = socket.socketpair()
here.settimeout(T)

def receive():
    try:
        return here.recv(1)
    except TimeoutError:
        return "nothing came"

CALLS = {
    "sleep": lambda: time.sleep(T),
    "lock": lambda: threading.Event().wait(T),
    "select": lambda: select.select([here], [], [], T),
    "receive": receive,
    "asyncio": lambda: asyncio.run(asyncio.sleep(T, "slept")),
    "child": lambda: subprocess.run(["sh", "-c", f"sleep {T}; echo hi"], capture_output=True).stdout,
}
began = time.monotonic()
tell("ready")
said = CALLS[sys.argv[2]]()
print("result", said, time.monotonic() - began >= T)
what_is_there()
"""
)

# It has imported phaseprof, and profiles nothing: that stays as it is.
ACQUAINTED = (
    "import phaseprof\nfrom phaseprof.live import session\n"
    + TRAINER
    + """
print("still", phaseprof.__version__, phaseprof.Profiler().enabled, "phaseprof.live.session" in sys.modules)
"""
)

# One that ends while it is observed.
SHORT = (
    COMMON
    + '''
tell("ready")
wait_for("began")
for number in range(200):
    time.sleep(0.01)
print("done", flush=True)
'''
)

# One that forks while it is observed: the child must be whole, whatever we did at that moment,
# and nothing of ours must go on in it.
FORKING = (
    COMMON
    + '''
tell("ready")
n = 0
while not os.path.exists(os.path.join(FOLDER, "observed")):
    n += 1
    time.sleep(0.005)
    if n % 2 == 0:
        child = os.fork()
        if child == 0:
            import colorsys, dataclasses, difflib, uuid
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
what_is_there()
'''
)

PROFILED = '''
import os, sys, time
import phaseprof
profiler = phaseprof.Profiler(run=None)
open(os.path.join(sys.argv[1], "ready"), "w").close()
for number in range(100_000):
    with profiler.generation(number):
        time.sleep(0.02)
    if os.path.exists(os.path.join(sys.argv[1], "observed")):
        break
print("generations", profiler.enabled)
'''
