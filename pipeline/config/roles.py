"""The settings of which model plays which role, and which models will be trained."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field, model_validator

from pipeline.config.address import map_models
from pipeline.config.inheritance import inherit
from pipeline.config.models import ModelConfig
from pipeline.types import Data
from pipeline.types.data import matching

ROLES = ("generator", "refiner", "curator", "solver", "seeker", "teacher", "judge", "reader", "writer")
PolicyName = Annotated[
    str, matching(r"[a-z0-9][a-z0-9_-]{0,39}", "the name must be of small letters, digits, - and _, 40 at most")
]
"""A name that is also used for files."""


class Models(Data):
    """The model of every role. Roles, and keys of a role, that are left out are taken from the default."""

    default: ModelConfig = ModelConfig()
    generator: ModelConfig | None = None
    refiner: ModelConfig | None = None
    curator: ModelConfig | None = None
    solver: ModelConfig | None = None
    seeker: ModelConfig | None = None
    """The model that looks for shortcuts."""
    teacher: ModelConfig | None = None
    judge: ModelConfig | None = None
    writer: ModelConfig | None = None
    """The model that writes distractors."""
    reader: ModelConfig | None = None
    """The model of the checks that read passages."""
    policies: dict[PolicyName, ModelConfig] = Field(default_factory=dict)
    """The models that will be trained, by names that you choose. Every accepted pair is measured with each of them."""

    @model_validator(mode="before")
    @classmethod
    def _fill_roles(cls, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        if not isinstance(base := tree.get("default", {}), dict):
            return tree
        return map_models(tree, partial(inherit, base))

    @model_validator(mode="after")
    def _check_addresses(self) -> "Models":
        # Answers are cached under the model's name, so one name must mean one model.
        first_by_name: dict[str, ModelConfig] = {}
        for model in self.all():
            first = first_by_name.setdefault(model.model, model)
            if (first.provider, set(first.base_urls)) != (model.provider, set(model.base_urls)):
                raise ValueError(f"two roles have a model '{model.model}' at different addresses")
        return self

    def of(self, role: str) -> ModelConfig:
        return getattr(self, role) or self.default

    def judges(self) -> tuple[ModelConfig, ...]:
        """Return the models that must all say yes for an answer to count as right.

        They are the judge and, if possible, a second model: not the generator's unless the judge is that already, and
        preferably not the solver's. Without a second model the judge is asked twice. The demo model, which goes by
        rules, is asked once. Models that will be trained never judge, so that all their checkpoints get the same
        grades.
        """
        judge = self.of("judge")
        if not judge.capabilities.understands:
            return (judge,)
        biased = [self.of("generator").model, self.of("solver").model]
        models = [self.default, *map(self.of, ROLES)]
        candidates = {
            model.model: model for model in models if model.model != judge.model and model.capabilities.understands
        }
        ranked = sorted(candidates.values(), key=lambda model: [model.model == name for name in biased])
        if ranked and (judge.model == biased[0] or ranked[0].model != biased[0]):
            return judge, ranked[0]
        return judge, judge

    def names(self) -> str:
        """Return the names of all models in use, the generator's first, without repeats."""
        return " + ".join(dict.fromkeys(model.model for model in self.in_use()))

    def with_several_roles(self) -> list[tuple[str, list[str]]]:
        """Return the models that play more than one of generator, solver and judge, with those roles."""
        roles: dict[str, list[str]] = {}
        for role in ("generator", "solver", "judge"):
            roles.setdefault(self.of(role).model, []).append(role)
        return [(model, its_roles) for model, its_roles in roles.items() if len(its_roles) > 1]

    def in_use(self) -> list[ModelConfig]:
        """Return the model of each role, then those that will be trained."""
        return [*map(self.of, ROLES), *self.policies.values()]

    def all(self) -> list[ModelConfig]:
        return [self.default, *self.in_use()]

    def by_setting(self) -> dict[str, ModelConfig]:
        return dict(zip(("default", *ROLES, *(f"policies.{name}" for name in self.policies)), self.all(), strict=True))

    def digest_input(self) -> dict[str, Any]:
        """Return the settings that are part of the run's digest. Roles that the default model plays are left out."""
        default = self.default.digest_input()
        roles = {role: self.of(role).digest_input() for role in ROLES}
        exceptions = {role: model for role, model in roles.items() if model != default}
        policies = {name: model.digest_input() for name, model in self.policies.items()}
        return {"default": default, **exceptions, "policies": policies}
