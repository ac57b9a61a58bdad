"""Chooses which rollouts are worth imitating, and writes them as trainers read them.

It may import agents and types. Views import it.
"""
