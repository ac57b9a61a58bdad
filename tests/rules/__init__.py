"""House rules as tests: each rule is one function over a source file, and each is shown to catch a planted violation."""
