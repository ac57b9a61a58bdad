"""How a draft is made and revised. One file each, named as the strategy, with `propose` and `revise`."""
