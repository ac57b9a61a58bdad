"""House rules as tests: a rule is a function over source files, and each is shown to catch a planted violation."""
