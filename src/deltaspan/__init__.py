"""Prove what an agent's action changed."""
