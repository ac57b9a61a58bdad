"""Work on finished runs: what a policy solves, stages that pairs lack, resampled turns, mixes of runs."""
