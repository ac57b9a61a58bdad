"""Text that tries to break out of pages, cards, YAML, tables and terminals. Corpus and model text may be any of it."""

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "{{ 7*7 }}{% for x in y %}",
    "``````\n# Heading\n---\nlicense: mit",
    "line\u2028sep\u2029para\x85nel",
    "nul\x00 esc\x1b[31mred bell\x07",
    "bidi \u202eright\u202c \ufeffbom",
    "emoji 🧭👩‍🚀 and ａｂｃ",
    "| pipe | table |\r\n|---|---|",
    "&lt;b&gt; &amp; <!-- comment -->",
    "<answer>Beijing</answer>",
)
