"""What of a rollout is worth imitating, and how trainers read it."""
