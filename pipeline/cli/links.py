"""The command `links`: shows the phrases that link the documents of a corpus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.links.stored import StoredLinks


@dataclass(kw_only=True)
class Links(options.CorpusOptions):
    """Show the phrases that link the documents of a corpus, and the passages that contain them."""

    what: Annotated[
        str | None,
        Argument(metavar="[PHRASE|ID]", help="A phrase, or the id of a document or passage.  [a sample of phrases]"),
    ] = None
    limit: Annotated[int, Option(min=1, help="Show at most this many phrases.")] = 20
    config: options.Config = None
    sets: options.Sets = None
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.run import prepare

        config = self.settings()
        links = prepare.links(config, prepare.corpus(config))
        phrases = [_describe_phrase(links, number) for number in self._find_phrase_numbers(links)]
        lines = []
        for phrase in phrases:
            kind = f"{phrase['kind']}, {phrase['documents']} documents"
            lines.append(console.text(f"{phrase['phrase']}  ({kind})", style="bold"))
            for passage in phrase["passages"]:
                sentence = passage["sentence"] or "(its title)"
                lines.append(console.text(f"  {passage['passage']}  {passage['title']}: {sentence}"))
        console.result(phrases, *lines, as_json=self.json)

    def _find_phrase_numbers(self, links: "StoredLinks") -> list[int]:
        if self.what is None:
            # Phrases are numbered by their hash, so the first ones are a random sample.
            return list(range(min(self.limit, len(links))))
        number = links.find(self.what)
        passage = links.corpus.passage(self.what) or links.corpus.find_shown(self.what)
        ids = [passage.id] if passage else [passage.id for passage in links.corpus.passages_of(self.what)]
        if number is not None and not ids:
            return [number]
        if not ids:
            raise UsageError(
                f"'{self.what[:80]}' is neither a phrase that links documents of this corpus nor the id of a document"
            )
        places = [place for place in map(links.corpus.place, ids) if place is not None]
        return list(dict.fromkeys(number for place in places for number in links.of(place)))[: self.limit]


def _describe_phrase(links: "StoredLinks", number: int) -> dict[str, Any]:
    phrase = links.phrase(number)
    passages = [
        {"passage": passage.id, "title": passage.title, "sentence": links.sentence(mention), "home": mention.home}
        for mention in links.mentions(number) if (passage := links.passage(mention.place))
    ]  # fmt: skip
    return {"phrase": links.text(number), "kind": phrase.kind, "documents": phrase.documents, "passages": passages}
