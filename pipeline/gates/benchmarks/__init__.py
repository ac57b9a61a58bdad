"""Files of questions that people published, and how a question of ours is told to be one of them."""
