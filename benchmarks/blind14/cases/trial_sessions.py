"""Trials of a search write to a data base, each through a session of its own, found by the trial's name."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
import sqlalchemy as sa
from sqlalchemy import orm

import phaseprof as pp


class Base(orm.DeclarativeBase):
    pass


class Step(Base):
    __tablename__ = "steps"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    trial: orm.Mapped[str]
    loss: orm.Mapped[float]


class Search:
    def __init__(self):
        self.trial = None
        engine = sa.create_engine("sqlite://")
        Base.metadata.create_all(engine)
        self.sessions = orm.scoped_session(orm.sessionmaker(engine), scopefunc=lambda: self.trial)

    def run(self, trial, losses):
        self.trial = trial
        session = self.sessions()
        session.info["losses"] = losses
        session.add_all([Step(trial=trial, loss=float(loss)) for loss in losses[::200]])
        session.commit()
        mean = session.scalar(sa.select(sa.func.avg(Step.loss)).where(Step.trial == trial))
        session.execute(sa.delete(Step).where(Step.trial == trial))
        session.commit()
        if not driver.LEAK:
            self.sessions.remove()
        return mean


def main():
    rng = np.random.default_rng(139)
    search = Search()
    best = deque(maxlen=50)
    curves = deque(maxlen=45)
    for generation in pp.generations(range(driver.generations(140))):
        with pp.profile_phase("suggest"):
            rates = rng.random(12)
            driver.work(30)
        with pp.profile_phase("train"):
            means = []
            for number, rate in enumerate(rates):
                losses = np.exp(-rate * np.linspace(0, 5, 900))
                means.append(search.run(f"trial-{generation}-{number}", losses))
            driver.work(20)
            driver.wait(350)
        with pp.profile_phase("record"):
            best.append(min(means))
            curves.append(rng.random(3000))
            driver.work(20)
    driver.finish()


main()
