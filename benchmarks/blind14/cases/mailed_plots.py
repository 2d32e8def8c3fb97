"""After each generation a mail with the newest plot is put together; a server (here: a class) would send it."""

import sys
from collections import deque
from email.message import EmailMessage
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np

import phaseprof as pp


class Server:
    def __init__(self):
        self.sent = 0

    def send(self, mail):
        self.sent += len(mail["Subject"]) + sum(len(part.get_payload()) for part in mail.iter_attachments())


class Reporter:
    def __init__(self, server):
        self.server = server
        self.mail = self.new_mail()

    def new_mail(self):
        mail = EmailMessage()
        mail["From"], mail["To"] = "training@example.org", "team@example.org"
        mail.set_content("The newest plot is attached.")
        return mail

    def report(self, generation, plot):
        if not driver.LEAK:
            self.mail = self.new_mail()
        del self.mail["Subject"]
        self.mail["Subject"] = f"generation {generation}"
        self.mail.add_attachment(plot.tobytes(), maintype="image", subtype="x-raw", filename=f"plot_{generation}.raw")
        self.server.send(self.mail)


def draw(curve):
    """The curve of the newest returns as a picture."""
    picture = np.full((260, 380), 255, np.uint8)
    for x, value in enumerate(curve):
        picture[int(259 * np.clip(value, 0, 1)), x] = 0
    return picture


def main():
    rng = np.random.default_rng(113)
    reporter = Reporter(Server())
    curve = deque(maxlen=380)
    replay = deque(maxlen=20)
    for generation in pp.generations(range(driver.generations(62))):
        with pp.profile_phase("rollout"):
            curve.extend(rng.random(19))
            replay.append(rng.random((120, 60)))
            driver.work(60)
        with pp.profile_phase("learn"):
            driver.work(50)
        with pp.profile_phase("report"):
            reporter.report(generation, draw(curve))
            driver.work(15)
    driver.finish()


main()
