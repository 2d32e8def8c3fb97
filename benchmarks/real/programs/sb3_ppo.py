"""PPO on CartPole with four environments: python sb3_ppo.py healthy|leaky STEPS."""

import sys

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

LEAKY, STEPS = sys.argv[1] == "leaky", int(sys.argv[2])


class Recorder(gym.Wrapper):
    """Keeps what happened in an episode, for a video of the best."""

    def __init__(self, env):
        super().__init__(env)
        self.frames = []

    def reset(self, **kwargs):
        if not LEAKY:
            self.frames.clear()
        return self.env.reset(**kwargs)

    def step(self, action):
        observation, *others = self.env.step(action)
        self.frames.append(np.repeat(observation, 64))
        return observation, *others


def make():
    return Recorder(gym.make("CartPole-v1"))


torch.set_num_threads(1)
model = PPO("MlpPolicy", DummyVecEnv([make] * 4), n_steps=128, batch_size=128, n_epochs=4, seed=1, device="cpu")
model.learn(total_timesteps=STEPS)
print("RESULT", float(sum(p.double().sum() for p in model.policy.parameters())))
