"""A small evolutionary trainer, instrumented as a user would, with a leak to plant on request.

It is a real program: sixteen DDPG agents trade on a random walk, learn from a shared replay buffer, and evolve, while a
recurrent world model collects experience. ``run_demo`` in ``phaseprof.demo.main`` runs it.
"""
