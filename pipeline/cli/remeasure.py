"""The command `remeasure`: a run's questions tried by a model to be trained, since difficulty ages with the model."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from typer import Option

from pipeline.analysis.estimates import percent
from pipeline.cli import console, options
from pipeline.cli.progress import Progress
from pipeline.config import build, toml
from pipeline.config.inheritance import inherit
from pipeline.config.models import ModelConfig
from pipeline.config.roles import Models
from pipeline.errors import UsageError
from pipeline.run.locate import quote_run, reopen


def remeasure(  # noqa: PLR0913, PLR0917 - options of the user
    run: options.Run,
    policy: Annotated[
        str | None, Option(metavar="NAME", help="Of the model to be trained.  [the one of the run's models.policies]")
    ] = None,
    model: Annotated[
        str | None, Option(metavar=options.MODELS, help="Its latest checkpoint.  [as models.policies.NAME]")
    ] = None,
    base_url: options.BaseUrl = None,
    sets: options.Sets = None,
    refill: Annotated[
        bool, Option("--refill", help="Then generate as many pairs as are now outside gates.solve_rate.")
    ] = False,
    budget_tokens: options.BudgetTokens = None,
    budget_money: options.BudgetMoney = None,
    budget_seconds: options.BudgetSeconds = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Try the questions of a run, unsolved ones included, with a model to be trained, such as its latest checkpoint."""
    from pipeline import api
    from pipeline.afterwards.policy_measuring import Budgets, check_band

    folder, own = reopen(run, out)
    name = policy or _only(own.models)
    if refill:
        check_band(own, name)
    measured = partial(
        api.remeasure,
        folder,
        name,
        model=_model(own.models, name, model, base_url, sets or []),
        budgets=Budgets(tokens=budget_tokens, money=budget_money, seconds=budget_seconds),
        progress=lambda n: console.message(f"{n} questions"),
        announce=console.message,
    )
    found = measured()
    if refill:
        with Progress(pairs=own.how.pairs) as watch:
            api.refill(folder, name, out=out, watch=watch)
        found = measured()
    rows = [
        ("questions", found.questions),
        ("solved", found.solved),
        ("mean solve rate", percent(found.solve_rate)),
        ("known without search", found.known),
        ("opened", found.opened),
        ("outside gates.solve_rate", found.outgrown),
    ]
    tree = {"model": found.model, "run": str(folder), **found.model_dump()}
    console.result(tree, console.table(f"{name}: {found.model}", "", rows=rows), as_json=json, model=found.model)
    if json:
        return
    console.message(f"the data set for it: digsite export {quote_run(run, out)} --for {name}")
    if found.opened:
        export = f"digsite export {quote_run(run, out)} --include beyond_solver"
        console.message(f"{found.opened} that the run's solver could not solve: {export}")


def _only(models: Models) -> str:
    if len(models.policies) != 1:
        known = f"one of {', '.join(models.policies)}" if models.policies else "any name, with its --model"
        raise UsageError(f"which policy? Say --policy NAME: {known}")
    return next(iter(models.policies))


def _model(
    models: Models, policy: str, model: str | None, base_urls: list[str] | None, sets: Sequence[str] = ()
) -> ModelConfig | None:
    """The named model, address and settings, with those of the run's policy of that name, or else of its solver, for
    everything else; None where nothing is named."""
    if model is None and base_urls is None and not sets:
        return None
    before = models.policies.get(policy) or models.of("solver")
    given = {**(options.model(model) if model else {}), **({"base_urls": base_urls} if base_urls else {})}
    for one in sets:
        tree = toml.setting(one).get("models", {}).get("policies", {}).get(policy)
        if not isinstance(tree, dict):
            raise UsageError(f"remeasure can set models.policies.{policy} alone, such as its sampling, not '{one}'")
        given = toml.merged(given, tree)
    kept = before.model_dump(exclude_defaults=True)
    if before.provider == "openai":
        # The run's own address, even if it is the default: another one may be set in the environment now.
        kept["base_urls"] = before.base_urls
    built = build(values={"models": {"default": inherit(kept, given)}})
    return built.models.default
