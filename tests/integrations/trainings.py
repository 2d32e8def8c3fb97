"""A small training in each framework, run five times in a process of its own: python trainings.py FRAMEWORK FOLDER

Without a callback, with one, with a leak, with an exception, and with a callback that fails.  What came of it is
printed as JSON.  Each training calls ``run.round()`` once a generation, from the user's own part of it.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import random
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import phaseprof as pp

ROUNDS, FAILS_AT = 32, 5
# That under which a healthy training must hear nothing, and one under which each generation of a few hundredths of a
# second is read, whatever else the machine does.
BUDGET, AMPLE = 0.1, 0.5


@dataclass
class Run:
    """What a training needs to know, and what the user's part of it keeps."""

    folder: Path
    profiler: object = None
    pause_s: float = 0.0
    leaks: bool = False
    fails: bool = False
    is_marked: bool = True
    n: int = 0
    kept: list[object] = field(default_factory=list)

    def round(self) -> None:
        self.n += 1
        if self.fails and self.n == FAILS_AT:
            raise LookupError("planned")
        if self.pause_s:  # as long as a generation that is read in full under the default budget
            time.sleep(self.pause_s)
        if self.leaks:
            self.kept.append(np.ones(250_000))

    def callbacks(self, name: str) -> list[object]:
        return [getattr(pp.integrations, name).Callback(profiler=self.profiler)] if self.is_marked else []

    def attach(self, name: str, to: object) -> None:
        if self.is_marked:
            self.attached = getattr(pp.integrations, name).Callback(to, profiler=self.profiler)


def digest(values: object) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def digest_module(module: object) -> str:
    return digest(np.concatenate([value.detach().numpy().ravel() for value in module.state_dict().values()]))


def seed() -> None:
    random.seed(3)
    np.random.seed(3)
    with contextlib.suppress(ImportError):
        import torch

        torch.manual_seed(3)
        torch.set_num_threads(1)


def lightning(run: Run) -> str:
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Model(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def training_step(self, batch: object, index: int) -> object:
            return self.layer(batch[0]).square().mean()

        def validation_step(self, batch: object, index: int) -> None:
            self.log("loss", self.layer(batch[0]).square().mean())

        def on_train_epoch_end(self) -> None:
            run.round()

        def configure_optimizers(self) -> object:
            return torch.optim.Adam(self.parameters(), lr=0.01)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=16, shuffle=True)
    checkpoints = ModelCheckpoint(run.folder, save_top_k=1, monitor="loss", every_n_epochs=2)
    trainer = Trainer(
        max_epochs=ROUNDS, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[*run.callbacks("lightning"), checkpoints], default_root_dir=run.folder,
    )  # fmt: skip
    model = Model()
    trainer.fit(model, data, data)
    return digest_module(model)


def transformers(run: Run) -> str:
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)

        def forward(self, x: object, labels: object = None) -> dict[str, object]:
            out = self.layer(x)
            return {"loss": (out.squeeze(-1) - labels).square().mean(), "logits": out}

    class Users(TrainerCallback):
        def on_epoch_end(self, *args: object, **kwargs: object) -> None:
            run.round()

    data = [{"x": torch.randn(8), "labels": torch.randn(())} for _ in range(32)]
    arguments = TrainingArguments(
        output_dir=str(run.folder), num_train_epochs=ROUNDS, per_device_train_batch_size=8, logging_steps=4,
        eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, report_to=[], use_cpu=True, disable_tqdm=True,
        seed=3,
    )  # fmt: skip
    model = Model()
    callbacks = [*run.callbacks("transformers"), Users()]
    trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:8], callbacks=callbacks)
    trainer.train()
    return digest_module(model)


def accelerate(run: Run) -> str:
    import torch
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    run.attach("accelerate", accelerator)
    model = torch.nn.Linear(8, 1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 8)), batch_size=16, shuffle=True)
    held = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 8)), batch_size=16)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model, optimizer, data, held = accelerator.prepare(model, optimizer, data, held)
    for _ in range(ROUNDS):
        for (batch,) in data:
            optimizer.zero_grad()
            accelerator.backward(model(batch).square().mean())
            optimizer.step()
        run.round()
        with torch.no_grad():
            for (batch,) in held:
                accelerator.gather_for_metrics(model(batch))
    accelerator.save_state(str(run.folder / "state"))
    accelerator.end_training()
    return digest_module(model)


def stable_baselines3(run: Run) -> str:
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    class Users(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            run.round()

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, n_epochs=1, seed=3, device="cpu")
    model.learn(32 * ROUNDS, callback=[*run.callbacks("stable_baselines3"), Users()])
    model.save(run.folder / "model")
    return digest_module(model.policy)


def keras(run: Run) -> str:
    import keras as framework

    framework.utils.set_random_seed(3)

    class Users(framework.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: object = None) -> None:
            run.round()

    model = framework.Sequential([framework.layers.Input((8,)), framework.layers.Dense(1)])
    model.compile("adam", "mse")
    x, y = np.random.rand(64, 8).astype("float32"), np.random.rand(64, 1).astype("float32")
    saves = framework.callbacks.ModelCheckpoint(str(run.folder / "model.keras"))
    model.fit(
        x, y, epochs=ROUNDS, batch_size=16, verbose=0, validation_split=0.25,
        callbacks=[*run.callbacks("keras"), Users(), saves],
    )  # fmt: skip
    return digest(np.concatenate([weights.ravel() for weights in model.get_weights()]))


def optuna(run: Run) -> str:
    import optuna as framework

    framework.logging.set_verbosity(framework.logging.ERROR)

    def objective(trial: framework.Trial) -> float:
        x = trial.suggest_float("x", -1, 1)
        run.round()
        return x * x

    study = framework.create_study(sampler=framework.samplers.RandomSampler(seed=3))
    study.optimize(objective, n_trials=ROUNDS, callbacks=run.callbacks("optuna"))
    return digest([trial.value for trial in study.trials] + [len(trial.user_attrs) for trial in study.trials])


def skorch(run: Run) -> str:
    import pickle

    import torch
    from skorch import NeuralNetRegressor
    from skorch.callbacks import Callback, Checkpoint

    class Users(Callback):
        def on_epoch_end(self, net: object, **kwargs: object) -> None:
            run.round()

    saves = Checkpoint(dirname=str(run.folder), monitor="valid_loss_best")
    net = NeuralNetRegressor(
        torch.nn.Linear, module__in_features=8, module__out_features=1, max_epochs=ROUNDS, lr=0.01, verbose=0,
        callbacks=[*run.callbacks("skorch"), Users(), saves],
    )  # fmt: skip
    net.fit(np.random.rand(64, 8).astype("float32"), np.random.rand(64, 1).astype("float32"))
    state = digest_module(net.module_) + str(sorted(net.history[-1]))
    net.set_params(callbacks=run.callbacks("skorch"))
    pickle.loads(pickle.dumps(net.initialize()))
    return state


def evotorch(run: Run) -> str:
    import torch
    from evotorch import Problem
    from evotorch.algorithms import PGPE

    def score(x: torch.Tensor) -> torch.Tensor:
        return x.square().sum(-1)

    problem = Problem("min", score, solution_length=8, initial_bounds=(-1, 1), vectorized=True, seed=3)
    searcher = PGPE(problem, popsize=32, center_learning_rate=0.1, stdev_learning_rate=0.1, stdev_init=0.5)
    run.attach("evotorch", searcher)
    searcher.after_step_hook.append(run.round)
    searcher.run(ROUNDS)
    return digest(searcher.status["center"].numpy())


def deap(run: Run) -> str:
    from deap import algorithms, base, creator, tools

    if not hasattr(creator, "Single"):
        creator.create("Least", base.Fitness, weights=(-1.0,))
        creator.create("Single", list, fitness=creator.Least)
    toolbox = base.Toolbox()
    toolbox.register("one", random.uniform, -1, 1)
    toolbox.register("individual", tools.initRepeat, creator.Single, toolbox.one, 8)
    toolbox.register("population", tools.initRepeat, list, toolbox.individual)
    toolbox.register("evaluate", lambda single: (sum(x * x for x in single),))
    toolbox.register("mate", tools.cxTwoPoint)
    toolbox.register("mutate", tools.mutGaussian, mu=0, sigma=0.1, indpb=0.2)
    toolbox.register("select", tools.selTournament, tournsize=3)
    run.attach("deap", toolbox)
    statistics = tools.Statistics(lambda single: single.fitness.values)
    statistics.register("round", lambda values: run.round())
    population, _ = algorithms.eaSimple(
        toolbox.population(40), toolbox, 0.5, 0.2, ngen=ROUNDS, stats=statistics, verbose=False
    )
    return digest([list(single) for single in population])


TRAININGS: dict[str, Callable[[Run], str]] = {
    one.__name__: one
    for one in (lightning, transformers, accelerate, stable_baselines3, keras, optuna, skorch, evotorch, deap)
}


def marked(
    train: Callable[[Run], str], folder: Path, *, budget: float = AMPLE, **what: bool
) -> dict[str, object]:
    """Run a training under a profiler of its own, and say what was seen."""
    folder.mkdir()
    profiler = pp.Profiler(str(folder / "recording"), budget=budget)
    rows = folder / "figures.csv"
    pp.integrations.csv.watch(rows, profiler=profiler)
    state = error = ""
    run = Run(folder, profiler, pause_s=0.06, **what)
    try:
        state = do(train, run)
    except LookupError as raised:
        error = repr(raised)
    with profiler.generation("after"), profiler.phase("after"):
        pass
    findings = profiler.findings()
    profiler.close()
    process = pp.load(folder / "recording").main
    with rows.open() as file:
        logged = list(csv.DictReader(file))
    return {
        "state": state, "error": error, "rounds": run.n,
        "findings": [(f.verdict, f.kind, f.phase, " ".join(f.holder)) for f in findings],
        "conclusion": findings.conclusion,
        "generations": [str(one.index) for one in process.generations if one.seconds is not None],
        "phases": sorted(process.phases), "logged": [row["metric"] for row in logged],
        "written": [path.name for path in folder.glob("**/*") if is_checkpoint(path) and names_us(path)],
        "files": sum(map(is_checkpoint, folder.glob("**/*"))),
    }  # fmt: skip


def do(train: Callable[[Run], str], run: Run) -> str:
    """So that what an exception held dies with this call."""
    seed()
    return train(run)


def is_checkpoint(path: Path) -> bool:
    return path.is_file() and "recording" not in path.parts and not path.name.startswith("figures.")


def names_us(path: Path) -> bool:
    return b"phaseprof" in path.read_bytes()


def plain(train: Callable[[Run], str], folder: Path, **what: object) -> dict[str, object]:
    folder.mkdir()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = do(train, Run(folder, **what))
    return {"state": state, "warnings": [str(one.message) for one in caught if one.category is pp.PhaseprofWarning]}


def main(name: str, folder: Path) -> None:
    warnings.filterwarnings("error", category=pp.PhaseprofWarning)
    train = TRAININGS[name]
    outcome = {
        "plain": plain(train, folder / "plain", is_marked=False),
        "healthy": marked(train, folder / "healthy", budget=BUDGET),
        "leak": marked(train, folder / "leak", leaks=True),
        "failed": marked(train, folder / "failed", fails=True),
        "broken": plain(train, folder / "broken", profiler="no profiler"),
    }
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
