"""Observe a process that already runs: who may, how code gets in, and what it does there."""
