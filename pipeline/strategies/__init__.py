"""How a draft is made and revised. One file each; the file's name is the strategy's, and it has `propose` and `revise`."""
