"""How a holder path is found and told: reading, frames, roots, search, ranking, steps."""
