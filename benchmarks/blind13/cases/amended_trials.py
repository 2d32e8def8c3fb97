"""Trials are rows of a data base; after they were evaluated, a remark about each is put into its row."""

import sys
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import driver
import numpy as np
from sqlalchemy import create_engine, delete, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import phaseprof as pp


class Base(DeclarativeBase):
    pass


class Trial(Base):
    __tablename__ = "trials"
    number: Mapped[int] = mapped_column(primary_key=True)
    score: Mapped[float]
    remark: Mapped[str] = mapped_column(default="")


class Study:
    def __init__(self):
        engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
        Base.metadata.create_all(engine)
        self.session = Session(engine, autoflush=False)
        self.last = 0

    def store(self, scores):
        self.session.execute(insert(Trial), [{"score": float(score)} for score in scores])
        too_old = delete(Trial).where(Trial.number <= self.last - 400)
        self.session.execute(too_old, execution_options={"synchronize_session": False})
        trials = self.session.scalars(select(Trial).where(Trial.number > self.last)).all()
        self.last = trials[-1].number
        return trials

    def remark(self, trials, population):
        for trial, weights in zip(trials, population, strict=True):
            trial.weights = weights
            trial.remark = "good" if trial.score > 0 else "bad"
        if not driver.LEAK:
            self.session.flush()


def main():
    rng = np.random.default_rng(71)
    study = Study()
    best = deque(maxlen=30)
    for _ in pp.generations(range(driver.generations(115))):
        with pp.profile_phase("evaluate"):
            population = rng.normal(size=(16, 1500)).astype(np.float32)
            scores = population.mean(axis=1)
            driver.work(60)
        with pp.profile_phase("record"):
            trials = study.store(scores)
            study.remark(trials, [weights.copy() for weights in population])
            driver.work(40)
        with pp.profile_phase("select"):
            best.append(population[scores.argmax()].copy())
            driver.work(40)
    driver.finish()


main()
