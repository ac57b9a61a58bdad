"""The data card: what a data set holds, how it was made, and what its figures mean; a Hugging Face `README.md`.

Its front matter makes `load_dataset(folder, view)` work. Text of corpus, model or operator may be hostile: the front
matter has it in quoted ASCII scalars, the body in fences that are longer than any run of backticks in it.
"""

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from jinja2 import Environment as Jinja
from jinja2 import FileSystemLoader, StrictUndefined
from pydantic import Field

from pipeline.analysis import money
from pipeline.analysis.estimates import percent, short
from pipeline.analysis.example_likeness import Comparison
from pipeline.analysis.figures import Figures
from pipeline.analysis.published_signatures import PUBLISHED, SOURCE
from pipeline.config import RunConfig
from pipeline.exports.card.glossary import TWINS, gloss
from pipeline.exports.mix.mix_version import Mix
from pipeline.exports.reward_questions import RewardQuestions
from pipeline.exports.shards import TOKEN_LIMITS
from pipeline.exports.views import base
from pipeline.gates.benchmarks import checked as benchmarks
from pipeline.gates.licence import share_alike
from pipeline.loop import solve_rates as band
from pipeline.store.arrow import plain
from pipeline.text.redact import clean
from pipeline.types import Data, Draft
from pipeline.types.version import Version

# Licences that the Hub has names for. Any other is declared as `other`, with its name in `license_name`.
HUB_LICENCES = frozenset(
    "apache-2.0 mit cc0-1.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 gfdl odc-by "
    "odbl pddl unlicense".split()
)
_WIDE = ("records",)
"""Views whose column types are left out, since there are too many."""
_BAR = 20
_JINJA = Jinja(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701 - Markdown; `fence` and `code` below escape it
    trim_blocks=True,
    lstrip_blocks=True,
)


class Contents(Data):
    """What a card describes besides the figures of the run."""

    rows: dict[str, dict[str, int]]
    """Number of rows by view and split."""
    digests: dict[str, str] = Field(default_factory=dict)
    """Digest of the rows by view."""
    included: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By reason of `--include`, the views that hold the added rows."""
    rewards: RewardQuestions = RewardQuestions()
    has_rl: bool = True
    """Whether an `rl_*` view has a row."""
    unwritten: dict[str, str] = Field(default_factory=dict)
    """The requested views that were not written, each with the reason."""
    plain: tuple[str, ...] = ()
    """Views that have text instead of Arrow's JSON type."""
    token_shares: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """For each view with a column `tokens`, the share of its rows within each of TOKEN_LIMITS."""
    missing: int = 0
    """Number of seeds whose journal lines were damaged."""
    older: tuple[str, ...] = ()
    """Views that were written from another state of the run than the figures."""
    redistribute: str = "unknown"
    """How much of the corpus may be redistributed, by its manifest."""
    language_detected: bool = False
    examples: tuple[Draft, ...] = ()
    beside_examples: tuple[Comparison, ...] = ()
    """How the questions compare with those of `questions.like`; empty without any."""
    selected: dict[str, dict[str, int]] = Field(default_factory=dict)
    """By agent, how many rollouts each filter of `sft` left."""
    twin_drops: dict[str, int] = Field(default_factory=dict)
    """Number of twins that were dropped, by gate."""
    mix: Mix | None = None
    """The mix, if the data set is of several runs."""
    version: Version | None = None
    """What the run took over from the version before; None for a first version."""

    @property
    def unvalidated(self) -> list[str]:
        """Views with training rows but no validation rows."""
        return [view for view, splits in self.rows.items() if "train" in splits and "eval" not in splits]


def card(figures: Figures, contents: Contents, config: RunConfig) -> str:
    return front_matter(metadata(figures, contents, config)) + _JINJA.get_template("card.md.j2").render(
        f=figures,
        # The demo model has no price, and its seconds would make two equal data sets differ.
        money=[] if figures.paid.total.money == 0 else money.rows(figures.paid, figures.accepted),
        money_heads=money.HEADS,
        estimated_note=money.ESTIMATED,
        contents=contents,
        config=config,
        published=PUBLISHED,
        published_source=SOURCE,
        token_limits=TOKEN_LIMITS,
        choose="digsite mix RUNS" if contents.mix else "digsite export RUN",
        # The config of a mix is that of only one of its runs.
        target="" if contents.mix else band.describe_target(config),
        benchmarks=benchmarks.coverage(config.gates),
        lineages=list({lineage.attribution: lineage for lineage in figures.lineages}.values()) or [None],
        corpora=_corpora(figures, config),
        share_alike=[lineage.licence for lineage in figures.lineages if share_alike(lineage.licence)],
    )


def metadata(figures: Figures, contents: Contents, config: RunConfig) -> dict[str, Any]:
    lineages = figures.lineages
    licence = " AND ".join(dict.fromkeys(lineage.licence for lineage in lineages))
    languages = list(dict.fromkeys(lineage.language for lineage in lineages if lineage.language != "unknown"))
    has_hub_name = licence.lower() in HUB_LICENCES
    tree: dict[str, Any] = {"license": licence.lower() if has_hub_name else "other"}
    if not has_hub_name:
        tree["license_name"] = licence or "unknown"
    if languages:
        tree["language"] = languages
    tree |= {
        "pretty_name": f"Digsite {', '.join(_corpora(figures, config))}, "
        + ("mixed" if contents.mix else f"{config.preset} preset"),
        "task_categories": ["question-answering"],
        "tags": ["synthetic", "deep-search", "multi-hop", "agent-trajectories", "digsite"],
        "size_categories": [
            _size_category(max((sum(splits.values()) for splits in contents.rows.values()), default=0))
        ],
        "configs": [_config(view, splits, contents.digests.get(view, "")) for view, splits in contents.rows.items()],
    }
    schemas = [
        {"config_name": view, "features": columns}
        for view in contents.rows
        if view not in (*_WIDE, *contents.older) and (columns := features(_schema(view, contents)))
    ]
    return tree | ({"dataset_info": schemas} if schemas else {})


def _schema(view: str, contents: Contents) -> pa.Schema:
    schema = base.load(view).schema
    return plain(schema) if view in contents.plain else schema


def _corpora(figures: Figures, config: RunConfig) -> list[str]:
    return list(dict.fromkeys(lineage.corpus for lineage in figures.lineages)) or [config.corpus_slug()]


def front_matter(tree: Mapping[str, Any]) -> str:
    """Return YAML in its JSON form, one key per line.

    It is ASCII only: YAML rejects some characters of Unicode and ends lines at others.
    """
    lines = (f"{key}: {_escape_unicode(json.dumps(value, ensure_ascii=False))}" for key, value in tree.items())
    return "\n".join(("---", *lines, "---", ""))


def fence(text: str) -> str:
    """Return a code block that the text cannot close."""
    text = clean(text)
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks}text\n{text}\n{marks}"


def code(text: str) -> str:
    """Return a code span that the text cannot close, safe in a cell of a table."""
    text = " ".join(clean(text).split()).replace("|", "¦")
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks} {text} {marks}" if "`" in text else f"`{text}`"


def bar(part: int, total: int) -> str:
    full = round(_BAR * part / total) if total else 0
    return "█" * full + "░" * (_BAR - full)


def _config(view: str, splits: Mapping[str, int], digest: str) -> dict[str, Any]:
    files = [{"split": split, "path": f"{view}/{split}-*.parquet"} for split in splits]
    # For a local folder, `datasets` hashes the front matter but no file. Without the digest, it would take its copy of
    # another data set's rows.
    named = {"config_name": view, "description": f"rows {digest}", "data_files": files}
    return named | ({"default": True} if view == "qa" else {})


def features(schema: pa.Schema) -> list[dict[str, Any]] | None:
    """Return the columns of a view in the Hub's form, so that it does not have to infer their types.

    The form is that of `datasets`, which is not imported here. Return None if a column holds JSON: `datasets` before
    4.7 does not know the type and would reject the card.
    """
    if any("json" in str(field.type) for field in schema):
        return None
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return {"struct": [{"name": field.name, **_feature(field.type)} for field in kind]}
    if pa.types.is_list(kind):
        inner = _feature(kind.value_type)
        return {"list": inner.get("struct") or inner.get("dtype") or inner}
    return {"dtype": {"double": "float64", "float": "float32"}.get(str(kind), str(kind))}


def _size_category(rows: int) -> str:
    sizes = "n<1K 1K<n<10K 10K<n<100K 100K<n<1M 1M<n<10M 10M<n<100M 100M<n<1B 1B<n<10B".split()
    return sizes[min(max(0, len(str(rows)) - 3), len(sizes) - 1)]


def _escape_unicode(text: str) -> str:
    """Escape all but ASCII. `json.dumps` would write surrogate pairs, which YAML does not join."""
    return re.sub(
        r"[^\x20-\x7e]", lambda m: f"\\u{ord(m[0]):04x}" if ord(m[0]) < 0x10000 else f"\\U{ord(m[0]):08x}", text
    )


_JINJA.filters |= {function.__name__: function for function in (fence, bar, code, gloss, short, percent)}
_JINJA.filters |= {
    "twin_gloss": TWINS.__getitem__,
    "number": "{:,}".format,
    "about": money.about,
    "json": partial(json.dumps, indent=2),
}
