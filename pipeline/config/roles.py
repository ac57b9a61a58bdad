"""Which model plays which role, and which models are to be trained."""

from functools import partial
from typing import Annotated, Any

from pydantic import Field, model_validator

from pipeline.config.address import each_model
from pipeline.config.inheritance import inherit
from pipeline.config.models import ModelConfig
from pipeline.types import Data
from pipeline.types.data import matching

ROLES = ("generator", "refiner", "curator", "solver", "seeker", "teacher", "judge", "reader", "writer")
PolicyName = Annotated[
    str, matching(r"[a-z0-9][a-z0-9_-]{0,39}", "the name must be of small letters, digits, - and _, 40 at most")
]
"""As it stands in file names: small letters, digits, `-` and `_`."""


class Models(Data):
    """The model of every role; a role that is left out is played by the default's, and so is every key left out."""

    default: ModelConfig = ModelConfig()
    generator: ModelConfig | None = None
    refiner: ModelConfig | None = None
    curator: ModelConfig | None = None
    solver: ModelConfig | None = None
    seeker: ModelConfig | None = None
    """Of the tries that look for shortcuts."""
    teacher: ModelConfig | None = None
    judge: ModelConfig | None = None
    writer: ModelConfig | None = None
    """Of distractors."""
    reader: ModelConfig | None = None
    """Of the checks that read given passages."""
    policies: dict[PolicyName, ModelConfig] = Field(default_factory=dict)
    """The models to be trained, by names of the user's own: every accepted pair is measured for each of them."""

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, tree: Any) -> Any:
        if not isinstance(tree, dict):
            return tree
        if not isinstance(base := tree.get("default", {}), dict):
            return tree
        return each_model(tree, partial(inherit, base))

    @model_validator(mode="after")
    def _one_address(self) -> "Models":
        """Answers are kept under the model's name, so that one name must mean one model."""
        known: dict[str, ModelConfig] = {}
        for model in self.all():
            other = known.setdefault(model.model, model)
            if (other.provider, set(other.base_urls)) != (model.provider, set(model.base_urls)):
                raise ValueError(f"two roles have a model '{model.model}' at different addresses")
        return self

    def of(self, role: str) -> ModelConfig:
        return getattr(self, role) or self.default

    def judges(self) -> tuple[ModelConfig, ...]:
        """Who must say yes for a yes: the judge, and another model where there is one, neither the generator's nor, if
        it can be helped, the solver's; else the judge again. One that goes by rules gives
        one answer, once.

        A model to be trained judges nothing: a new checkpoint must be graded as the one before it was.
        """
        first = self.of("judge")
        if not first.capabilities.understands:
            return (first,)
        partial = [self.of("generator").model, self.of("solver").model]
        played = [self.default, *map(self.of, ROLES)]
        others = {one.model: one for one in played if one.model != first.model and one.capabilities.understands}
        ranked = sorted(others.values(), key=lambda one: [one.model == name for name in partial])
        if ranked and (first.model == partial[0] or ranked[0].model != partial[0]):
            return first, ranked[0]
        return first, first

    def names(self) -> str:
        """The models of all roles, the generator's first, then those to be trained, each once."""
        return " + ".join(dict.fromkeys(one.model for one in self.played()))

    def shared(self) -> list[tuple[str, list[str]]]:
        """Models that play more than one of generator, solver and judge, with those roles."""
        roles: dict[str, list[str]] = {}
        for role in ("generator", "solver", "judge"):
            roles.setdefault(self.of(role).model, []).append(role)
        return [(model, played) for model, played in roles.items() if len(played) > 1]

    def played(self) -> list[ModelConfig]:
        """One for each role, then those to be trained."""
        return [*map(self.of, ROLES), *self.policies.values()]

    def all(self) -> list[ModelConfig]:
        """The default's, then as `played`."""
        return [self.default, *self.played()]

    def named(self) -> dict[str, ModelConfig]:
        """`all`, by the settings that name them."""
        return dict(zip(("default", *ROLES, *(f"policies.{name}" for name in self.policies)), self.all(), strict=True))

    def digested(self) -> dict[str, Any]:
        """Return the digested part: the default, the roles that another model plays, and the models to be trained."""
        default = self.default.digested()
        roles = {role: self.of(role).digested() for role in ROLES}
        others = {role: model for role, model in roles.items() if model != default}
        policies = {name: model.digested() for name, model in self.policies.items()}
        return {"default": default, **others, "policies": policies}
