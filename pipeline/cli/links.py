"""The command `links`: what joins the documents of a corpus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.links.stored import StoredLinks


@dataclass(kw_only=True)
class Links(options.CorpusOptions):
    """Show the phrases that link the documents of a corpus, and the passages that hold them."""

    what: Annotated[
        str | None,
        Argument(metavar="[PHRASE|ID]", help="A phrase, or the id of a document or passage; else some phrases."),
    ] = None
    limit: Annotated[int, Option(min=1, help="Phrases shown.")] = 20
    config: options.Config = None
    sets: options.Sets = None
    out: options.Out = None
    json: options.Json = False

    def __call__(self) -> None:
        from pipeline.run import prepare

        config = self.settings()
        links = prepare.links(config, prepare.corpus(config))
        found = [_phrase(links, number) for number in self._numbers(links)]
        shown = []
        for phrase in found:
            kind = f"{phrase['kind']}, {phrase['documents']} documents"
            shown.append(console.text(f"{phrase['phrase']}  ({kind})", style="bold"))
            for passage in phrase["passages"]:
                says = passage["sentence"] or "(its title)"
                shown.append(console.text(f"  {passage['passage']}  {passage['title']}: {says}"))
        console.result(found, *shown, as_json=self.json)

    def _numbers(self, links: "StoredLinks") -> list[int]:
        if self.what is None:
            # In the order of their hashes, which is none: a sample.
            return list(range(min(self.limit, len(links))))
        number = links.find(self.what)
        passage = links.corpus.passage(self.what) or links.corpus.find_shown(self.what)
        ids = [passage.id] if passage else [passage.id for passage in links.corpus.passages_of(self.what)]
        if number is not None and not ids:
            return [number]
        if not ids:
            raise UsageError(f"no phrase '{self.what[:80]}' links documents here, and no document has that id")
        places = [place for place in map(links.corpus.place, ids) if place is not None]
        return list(dict.fromkeys(number for place in places for number in links.of(place)))[: self.limit]


def _phrase(links: "StoredLinks", number: int) -> dict[str, Any]:
    phrase = links.phrase(number)
    passages = [
        {"passage": passage.id, "title": passage.title, "sentence": links.sentence(mention), "home": mention.home}
        for mention in links.mentions(number) if (passage := links.passage(mention.place))
    ]  # fmt: skip
    return {"phrase": links.text(number), "kind": phrase.kind, "documents": phrase.documents, "passages": passages}
