"""A DDPG agent: an encoder that actor and critic share, their targets, and two optimizers."""

from __future__ import annotations

import copy
import random

import numpy as np
import torch
from torch import Tensor, nn

from phaseprof.demo.environment import WINDOW, Array

DISCOUNT, TARGET_RATE, HIDDEN = 0.99, 0.01, 128


class Batch:
    """A sample of the replay buffer as tensors; the first axis is the sample."""

    def __init__(self, arrays: tuple[Array, Array, Array, Array]) -> None:
        self.observations, self.actions, self.rewards, self.next_observations = map(torch.from_numpy, arrays)


def mlp(n_inputs: int, *, final: nn.Module) -> nn.Sequential:
    """Return two hidden layers and one output, followed by ``final``."""
    return nn.Sequential(
        nn.Linear(n_inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1), final
    )


class DDPGAgent:
    """One member of the population."""

    def __init__(self) -> None:
        self.encoder = nn.Sequential(nn.Linear(WINDOW, HIDDEN), nn.ReLU())
        self.actor = mlp(HIDDEN, final=nn.Tanh())
        self.critic = mlp(HIDDEN + 1, final=nn.Identity())
        self.target_encoder = copy.deepcopy(self.encoder)
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), 1e-4)
        self.critic_optimizer = torch.optim.Adam([*self.encoder.parameters(), *self.critic.parameters()], 1e-3)

    def networks(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        """Return the networks that are trained."""
        return self.encoder, self.actor, self.critic

    def targets(self) -> tuple[nn.Module, nn.Module, nn.Module]:
        """Return the slow copies, in the order of ``networks``."""
        return self.target_encoder, self.target_actor, self.target_critic

    @torch.no_grad()
    def act(self, observation: Array, noise: float = 0.1) -> Array:
        """Return the position to take, of shape (1,), with exploration noise."""
        position = self.actor(self.encoder(torch.from_numpy(observation))).numpy()
        explored: Array = np.clip(position + np.float32(random.gauss(0, noise)), -1, 1)
        return explored

    def update(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Do one gradient step and return the losses of critic and actor, still with their graphs."""
        with torch.no_grad():
            upcoming = self.target_encoder(batch.next_observations)
            value = self.target_critic(torch.cat([upcoming, self.target_actor(upcoming)], dim=1))
            goal = batch.rewards + DISCOUNT * value
        features = self.encoder(batch.observations)
        critic_loss = (self.critic(torch.cat([features, batch.actions], dim=1)) - goal).pow(2).mean()
        actor_loss = -self.critic(torch.cat([features, self.actor(features)], dim=1)).mean()
        self.critic_optimizer.zero_grad()
        self.actor_optimizer.zero_grad()
        # Both losses go through the encoder, so the first backward may not free its buffers. The critic must not learn
        # from the actor's loss.
        critic_loss.backward(retain_graph=True)
        actor_loss.backward(inputs=[*self.encoder.parameters(), *self.actor.parameters()])
        self.critic_optimizer.step()
        self.actor_optimizer.step()
        self.follow()
        return critic_loss, actor_loss

    @torch.no_grad()
    def follow(self) -> None:
        """Move the targets a little towards the networks."""
        for network, target in zip(self.networks(), self.targets(), strict=True):
            for new, old in zip(network.parameters(), target.parameters(), strict=True):
                old.lerp_(new, TARGET_RATE)

    @torch.no_grad()
    def child(self, mutation: float = 0.0) -> DDPGAgent:
        """Return a new agent with these weights, each moved at random by about ``mutation``; optimizers start anew."""
        other = DDPGAgent()
        pairs = zip(self.networks() + self.targets(), other.networks() + other.targets(), strict=True)
        for mine, its in pairs:
            its.load_state_dict(mine.state_dict())
        for network in other.networks():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=mutation)
        return other
