"""Stand-ins for the files of benchmarks and of their copies: one invented question in each published layout."""

import csv
import gzip
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

ASKED = "Which lake feeds the river at Marrow Ford?"
REWORDED = "Into the river of Marrow Ford flows water from which lake?"
ANSWER, ALIAS = "Lake Ilm", "Ilm"
PAGE, OTHER = "Marrow Ford", "Lake Ilm"
CORPUS = [
    {"id": "w1", "title": PAGE, "text": "Marrow Ford is a village on a river that Lake Ilm feeds."},
    {"id": "w2", "title": OTHER, "text": "Lake Ilm is a lake in the hills above Marrow Ford."},
    {"id": "w3", "title": "Upper Carrow", "text": "Upper Carrow is a town."},
]
_LINK = "https://en.wikipedia.org/wiki/"
_PAIRS = [[PAGE, 0], [OTHER, 1]]
_COLUMNS = {"title": [PAGE, OTHER], "sent_id": [0, 1]}
_CONTEXT = [[PAGE, ["It is a village.", "Lake Ilm feeds its river."]], ["Upper Carrow", ["It is a town."]]]
_INSTRUCTION = (
    "Answer the given question. You must conduct reasoning inside <think> and </think> first. For example, "
    "<answer> Beijing </answer>. Question: "
)
_EVIDENCE = [[PAGE, "river fed by", OTHER]]
_PARAGRAPHS = [
    {"idx": 0, "title": "Upper Carrow", "paragraph_text": "A town.", "is_supporting": False},
    {"idx": 1, "title": PAGE, "paragraph_text": "A village.", "is_supporting": True},
    {"idx": 2, "title": OTHER, "paragraph_text": "A lake.", "is_supporting": True},
]
_MUSIQUE = {
    "id": "2hop__13548_13529",
    "paragraphs": _PARAGRAPHS,
    "question": ASKED,
    "question_decomposition": [
        {"id": 13548, "question": "Marrow Ford >> river", "answer": "the Rill", "paragraph_support_idx": 1},
        {"id": 13529, "question": "Which lake feeds #1?", "answer": ANSWER, "paragraph_support_idx": 2},
    ],
    "answer": ANSWER,
    "answer_aliases": [ALIAS],
    "answerable": True,
}
_VERL = {
    "data_source": "searchR1_hotpotqa",
    "prompt": [{"role": "system", "content": "Be helpful."}, {"role": "user", "content": f"{_INSTRUCTION}{ASKED}\n"}],
    "ability": "fact-reasoning",
    "reward_model": {"style": "rule", "ground_truth": {"target": [ANSWER, ALIAS]}},
}
_DOCS = {"docid": "w1", "text": "Marrow Ford is a village.", "url": "https://example.org/1"}

TITLED: dict[str, Any] = {
    "hotpot_dev_distractor_v1.json": [
        {
            "_id": "5a8b57f25542995d1e6f1371", "answer": ANSWER, "question": ASKED, "supporting_facts": _PAIRS,
            "context": _CONTEXT, "type": "bridge", "level": "hard",
        }
    ],
    "hotpot_qa/distractor/validation-00000-of-00001.parquet": [
        {
            "id": "5a8b57f25542995d1e6f1371", "question": ASKED, "answer": ANSWER, "type": "bridge", "level": "hard",
            "supporting_facts": _COLUMNS,
            "context": {"title": [PAGE, "Upper Carrow"], "sentences": [["It is a village."], ["It is a town."]]},
        }
    ],
    "2wiki/dev.json": [
        {
            "_id": "8813f87c0bdd11eba7f7acde48001122", "type": "compositional", "question": ASKED, "context": _CONTEXT,
            "supporting_facts": _PAIRS, "evidences": _EVIDENCE, "answer": ANSWER,
        }
    ],
    "2wiki_hub/dev.parquet": [
        # The Hub's copy encodes them as JSON.
        {
            "_id": "8813f87c", "type": "compositional", "question": ASKED, "context": orjson.dumps(_CONTEXT).decode(),
            "supporting_facts": orjson.dumps(_PAIRS).decode(), "evidences": orjson.dumps(_EVIDENCE).decode(),
            "answer": ANSWER,
        }
    ],
    "musique_ans_v1.0_dev.jsonl": [_MUSIQUE],
    "musique_full_v1.0_dev.jsonl": [
        _MUSIQUE,
        _MUSIQUE | {"paragraphs": _PARAGRAPHS[:1], "answerable": False},
    ],
    "frames.tsv": [
        {
            "": "0", "Prompt": ASKED, "Answer": ANSWER, "wikipedia_link_1": f"{_LINK}Marrow_Ford",
            "wikipedia_link_2": f"{_LINK}Lake_Ilm#Water", "reasoning_types": "Multiple constraints",
            "wiki_links": f"['{_LINK}Marrow_Ford', '{_LINK}Lake_Ilm#Water']",
        }
    ],
    "flashrag/hotpotqa/dev.jsonl": [
        {
            "id": "dev_0", "question": ASKED, "golden_answers": [ANSWER],
            "metadata": {"type": "bridge", "level": "hard", "supporting_facts": _COLUMNS, "context": {}},
        }
    ],
    "popqa.tsv": [
        {
            "id": "1", "subj": "Marrow Ford", "prop": "lake", "obj": ANSWER, "s_wiki_title": PAGE, "question": ASKED,
            "possible_answers": '["Lake Ilm", "Ilm"]',
        }
    ],
    "MultiHopRAG.json": [
        {
            "query": ASKED, "answer": ANSWER, "question_type": "inference_query",
            "evidence_list": [{"title": PAGE, "fact": "It is a village."}, {"title": OTHER, "fact": "It is a lake."}],
        }
    ],
}  # fmt: skip
"""Forms that name the pages of their evidence."""

BARE: dict[str, Any] = {
    "NQ-open.dev.jsonl": [{"question": ASKED.lower().rstrip("?"), "answer": [ANSWER, ALIAS]}],
    "nq_answers.jsonl": [{"question": ASKED, "answers": [ANSWER, ALIAS], "positive_ctxs": []}],
    "natural_questions/default/validation-00000-of-00007.parquet": [
        {
            "id": "797803103760793766", "document": {"title": PAGE, "url": f"{_LINK}Marrow_Ford"},
            "question": {"text": ASKED, "tokens": ASKED.split()},
            "annotations": {"id": ["1"], "short_answers": [{"text": [ANSWER]}], "yes_no_answer": [-1]},
        }
    ],
    "unfiltered-web-dev.json": {
        "Data": [
            {
                "Question": ASKED, "QuestionId": "tc_1", "QuestionSource": "http://www.example.org/",
                "Answer": {"Value": ANSWER, "Aliases": [ALIAS], "NormalizedValue": "lake ilm", "Type": "Entity"},
            }
        ],
        "Domain": "UnfilteredWeb",
        "Split": "dev",
        "VerificationEval": False,
        "Version": 1.0,
    },
    "triviaqa.parquet": [{"question": ASKED, "answer": {"aliases": [ALIAS], "value": ANSWER, "type": "Entity"}}],
    "bamboogle.csv": [{"Question": ASKED, "Answer": ANSWER}],
    "simple_qa_test_set.csv": [
        {"metadata": "{'topic': 'Geography', 'answer_type': 'Place', 'urls': []}", "problem": ASKED, "answer": ANSWER}
    ],
    "flashrag/nq/test.jsonl": [{"id": "test_0", "question": ASKED, "golden_answers": [ANSWER, ALIAS]}],
    "search_r1/test.parquet": [
        _VERL | {"id": "test_0", "question": ASKED, "golden_answers": [ANSWER], "extra_info": {"index": 0}}
    ],
    "verl/test.parquet": [
        _VERL
        | {
            "extra_info": {
                "index": 0, "need_tools_kwargs": True, "question": ASKED, "split": "test",
                "tools_kwargs": {"search": {"create_kwargs": {"ground_truth": {"target": [ANSWER]}}}},
            },
        }
    ],
    "verl_bare/test.parquet": [_VERL | {"extra_info": {"index": 0, "split": "test"}}],
    "openrlhf/train-00000-of-00001.parquet": [
        {"prompt": [{"role": "user", "content": f"{_INSTRUCTION}{ASKED}"}], "label": '["Lake Ilm","Ilm"]'}
    ],
    "kilt.jsonl": [
        {"id": "1", "input": ASKED, "output": [{"answer": ANSWER, "provenance": [{"title": PAGE}]}, {"answer": ALIAS}]}
    ],
    "by_pandas.csv": [{"question": ASKED, "answers": "['Lake Ilm', 'Ilm']"}],
    "saved/validation/data-00000-of-00001.arrow": [{"question": ASKED, "answer": ANSWER}],
    "packed.jsonl.gz": [{"question": ASKED, "answer": ANSWER}],
    "lines.json": [{"question": ASKED, "answer": ANSWER}],
}  # fmt: skip

WITH_IDS: dict[str, Any] = {
    "browsecomp_plus_decrypted.jsonl": [
        {
            "query_id": "769", "query": ASKED, "answer": ANSWER,
            "evidence_docs": [_DOCS, _DOCS | {"docid": "w2"}], "gold_docs": [_DOCS], "negative_docs": [_DOCS],
        }
    ],
    "qa/train-00000-of-00001.parquet": [
        {
            "question": ASKED, "answer": ANSWER, "answer_aliases": [ALIAS],
            "hops": [{"passage_id": "w1#0", "title": PAGE}, {"passage_id": "w2#0", "title": OTHER}],
        }
    ],
}  # fmt: skip
"""Forms that name their documents by id."""
FORMS = TITLED | BARE | WITH_IDS


def write_form(folder: Path, name: str) -> Path:
    """Write the file, in its own folders if its name has some."""
    path, rows = folder / name, FORMS[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".arrow":
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
        (path.parent / "state.json").write_bytes(orjson.dumps({"_data_files": [{"filename": path.name}]}))
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(rows)
    elif path.suffix == ".json" and not name.startswith("lines"):
        path.write_bytes(orjson.dumps(rows))
    else:
        lines = b"\n".join(map(orjson.dumps, rows))
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


def write_beir(folder: Path, *, answer: str = "") -> Path:
    """Write a folder in BEIR's layout: a corpus, queries of two splits and the judgements of one."""
    metadata = {"answer": answer} if answer else {}
    queries = [
        {"_id": "1", "text": ASKED, "metadata": metadata},
        {"_id": "2", "text": "Which town is Upper Carrow?", "metadata": metadata},
    ]
    rows = [{"_id": row["id"], "title": row["title"], "text": row["text"], "metadata": {}} for row in CORPUS]
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_bytes(b"\n".join(map(orjson.dumps, queries)))
    (folder / "corpus.jsonl").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\tw1\t1\n1\tw2\t2\n1\tw3\t0\n")
    (folder / "qrels/train.tsv").write_text("query-id\tcorpus-id\tscore\n2\tw3\t1\n")
    return folder
