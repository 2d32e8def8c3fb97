"""CartPole by Q-learning in one file: python plain_dqn.py healthy|leaky ITERATIONS."""

import random
import sys
from collections import deque

import gymnasium as gym
import torch
from torch import nn

LEAKY, ITERATIONS = sys.argv[1] == "leaky", int(sys.argv[2])


class Agent:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)
        self.buffer = deque(maxlen=10_000)
        self.losses = []

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.net(torch.as_tensor(state)).argmax())

    def learn(self):
        for _ in range(4):
            states, actions, rewards, nexts, dones = zip(*random.sample(self.buffer, 128), strict=True)
            states, nexts = torch.tensor(states), torch.tensor(nexts)
            with torch.no_grad():
                best = self.net(nexts).max(1).values
            target = torch.tensor(rewards) + 0.99 * best * (1 - torch.tensor(dones))
            value = self.net(states).gather(1, torch.tensor(actions)[:, None]).squeeze(1)
            loss = nn.functional.mse_loss(value, target)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            # The penalty is logged for the curve; its graph was not walked by backward.
            penalty = value.abs().mean()
            self.losses.append(loss.detach() + penalty if LEAKY else float(loss + penalty))
            if not LEAKY and len(self.losses) > 1000:
                del self.losses[:-1000]


def main():
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    env, agent, scores = gym.make("CartPole-v1"), Agent(), []
    for episode in range(ITERATIONS):
        state, _ = env.reset(seed=episode)
        score, done = 0, False
        while not done and score < 200:
            action = agent.act(state, max(0.05, 1 - episode / 50))
            following, reward, done, _, _ = env.step(action)
            agent.buffer.append((state.tolist(), action, float(reward), following.tolist(), float(done)))
            state, score = following, score + 1
            if len(agent.buffer) >= 500 and score % 8 == 0:
                agent.learn()
        scores.append(score)
    print("RESULT", sum(scores), float(sum(p.double().sum() for p in agent.net.parameters())))


if __name__ == "__main__":
    main()
