"""The values that a text states: the range of amounts or dates that each value stands for."""
