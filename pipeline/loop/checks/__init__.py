"""The checks of a draft, one file each. A file may import those of layers below `loop`, and other checks."""
