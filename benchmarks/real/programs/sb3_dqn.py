"""DQN on MountainCar with its replay buffer: python sb3_dqn.py healthy|leaky STEPS."""

import copy
import sys

import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

LEAKY, STEPS = sys.argv[1] == "leaky", int(sys.argv[2])


class KeepBest(BaseCallback):
    """Keeps the policy every so often, to go back to the best."""

    def __init__(self):
        super().__init__()
        self.checkpoints = []

    def _on_step(self):
        if self.n_calls % 200 == 0:
            self.checkpoints.append(copy.deepcopy(self.model.policy.state_dict()))
            if not LEAKY:
                del self.checkpoints[:-3]
        return True


torch.set_num_threads(1)
model = DQN(
    "MlpPolicy", "MountainCar-v0", buffer_size=20_000, learning_starts=1000, train_freq=8, seed=1, device="cpu",
    policy_kwargs={"net_arch": [128, 128]},
)  # fmt: skip
model.learn(total_timesteps=STEPS, callback=KeepBest())
print("RESULT", float(sum(p.double().sum() for p in model.policy.parameters())))
