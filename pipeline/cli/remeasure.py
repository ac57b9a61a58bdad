"""The command `remeasure`: measures a run's questions with a model in training, as difficulty depends on the model."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from typer import Option

from pipeline.analysis.estimates import percent
from pipeline.cli import console, options
from pipeline.cli.progress import Progress
from pipeline.config import build, toml
from pipeline.config.models import ModelConfig, Models, inherit
from pipeline.errors import UsageError
from pipeline.run.locate import quote_run, reopen


def remeasure(  # noqa: PLR0913, PLR0917 - options of the user
    run: options.Run,
    policy: Annotated[
        str | None, Option(metavar="NAME", help="Name of the model in training.  [the only one in models.policies]")
    ] = None,
    model: Annotated[
        str | None, Option(metavar=options.MODELS, help="Its latest checkpoint.  [as in models.policies.NAME]")
    ] = None,
    base_url: options.BaseUrl = None,
    sets: options.Sets = None,
    refill: Annotated[
        bool, Option("--refill", help="Then generate a new pair for each one that is now outside gates.solve_rate.")
    ] = False,
    allow_removal: options.AllowRemoval = None,
    budget_tokens: options.BudgetTokens = None,
    budget_money: options.BudgetMoney = None,
    budget_seconds: options.BudgetSeconds = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Measure the questions of a run, unsolved ones included, with a model in training or its latest checkpoint."""
    from pipeline import api
    from pipeline.afterwards.policy_measuring import Budgets, check_band

    folder, config = reopen(run, out)
    name = policy or _only_policy(config.models)
    if refill:
        check_band(config, name)
    measure = partial(
        api.remeasure,
        folder,
        name,
        model=_configure_model(config.models, name, model, base_url, sets or []),
        budgets=Budgets(tokens=budget_tokens, money=budget_money, seconds=budget_seconds),
        # New pairs are generated for those that go.
        allow_removal=refill or bool(allow_removal),
        progress=lambda n: console.message(f"{n} questions"),
        announce=console.message,
    )
    measurement = measure()
    if refill:
        with Progress(pairs=config.runtime.pairs) as watch:
            api.refill(folder, name, out=out, watch=watch)
        measurement = measure()
    rows = [
        ("questions", measurement.questions),
        ("solved", measurement.solved),
        ("mean solve rate", percent(measurement.solve_rate)),
        ("known without search", measurement.known),
        ("opened", measurement.opened),
        ("outside gates.solve_rate", measurement.outgrown),
    ]
    tree = {"model": measurement.model, "run": str(folder), **measurement.model_dump()}
    table = console.table(f"{name}: {measurement.model}", "", rows=rows)
    console.result(tree, table, as_json=json, model=measurement.model)
    if json:
        return
    console.message(f"to export the data set for it: digsite export {quote_run(run, out)} --for {name}")
    if measurement.opened:
        export = f"digsite export {quote_run(run, out)} --include beyond_solver"
        console.message(
            f"to include the {measurement.opened} questions that the run's solver could not solve: {export}"
        )


def _only_policy(models: Models) -> str:
    if len(models.policies) != 1:
        choices = f"one of {', '.join(models.policies)}" if models.policies else "any name, with its --model"
        raise UsageError(f"which policy? Add --policy NAME: {choices}")
    return next(iter(models.policies))


def _configure_model(
    models: Models, policy: str, model: str | None, base_urls: list[str] | None, sets: Sequence[str] = ()
) -> ModelConfig | None:
    """Apply the options to the run's policy of that name, or else to its solver. Return None without options."""
    if model is None and base_urls is None and not sets:
        return None
    base = models.policies.get(policy) or models.of("solver")
    changes = {**(options.parse_model(model) if model else {}), **({"base_urls": base_urls} if base_urls else {})}
    for text in sets:
        tree = toml.parse_setting(text).get("models", {}).get("policies", {}).get(policy)
        if not isinstance(tree, dict):
            raise UsageError(f"remeasure can only set models.policies.{policy}, such as its sampling, not '{text}'")
        changes = toml.merge(changes, tree)
    values = base.model_dump(exclude_defaults=True)
    if base.provider == "openai":
        # Name the address even if it is the default, which the environment may have changed since.
        values["base_urls"] = base.base_urls
    return build(values={"models": {"default": inherit(values, changes)}}).models.default
