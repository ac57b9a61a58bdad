"""Work on finished runs: measuring a policy, adding missing stages, resampling turns, mixing runs."""
