"""HTML pages become documents with trafilatura, and without it one line says what to install."""

import time
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import base, html
from pipeline.corpus.readers.base import ReadLimits
from pipeline.errors import CorpusError

PAGE = """<!DOCTYPE html><html lang="en"><head><title>The mill of Arden</title><script>alert(1)</script></head><body>
<nav><a href="/">Home</a> <a href="/about">About this site</a></nav>
<article><h1>The mill of Arden</h1>
<p>The mill of Arden was built in 1702 by
Heinrich Otto, and it ground the
corn of nine villages.</p>
<p>It stands by the river, &amp; its wheel is of oak, as the visitors of 1810 wrote in their letters home.</p>
<table><tr><th>Year</th><th>Owner</th></tr><tr><td>1702</td><td>Heinrich Otto</td></tr></table>
</article><footer>Copyright of nobody. Cookies.</footer></body></html>"""


def test_the_main_text_of_a_page_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a").mkdir()
    for name in ("a/mill.html", "other.HTM"):
        (tmp_path / name).write_text(PAGE.replace("1810", "1811" if "other" in name else "1810"))
    (tmp_path / "note.txt").write_text("A note.")
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    mill = loaded.documents[0]
    assert [document.id for document in loaded.documents] == ["a/mill.html", "note.txt", "other.HTM"]
    assert mill.title == "The mill of Arden"
    assert "built in 1702 by Heinrich Otto, and it ground the corn of nine villages." in mill.text
    assert "the river, & its wheel" in mill.text
    assert "Owner: Heinrich Otto" in mill.text
    for gone in ("alert", "Home", "Cookies", "<"):
        assert gone not in mill.text


CODE = """<html><body><article><h1>Abbilder</h1>
<p>Ein leeres Abbild, das bis zu einer Größe von 5 GiB anwachsen kann, erzeugen Sie mit <code>dd
if=/dev/zero</code>(1), und zwar in
einem Schritt, wie folgt.</p>
<pre>$ <b>dd</b> bs=1
$ <b>sync</b></pre>
<p>本手册介绍
软件包管理的基本概念，并说明如何使用命令行工具来安装、升级以及删除软件包。</p>
<p>Statt <code>dd</code> kann hier auch das dafür gemachte <code>fallocate</code> verwendet werden, wo es
eines gibt.</p></article></body></html>"""


def test_a_paragraph_is_one_line_whatever_code_it_holds_and_code_keeps_its_lines(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text(CODE)
    (row,) = html.read(tmp_path / "a.html", ReadLimits())
    text = str(row.values["text"])
    assert "erzeugen Sie mit dd if=/dev/zero(1), und zwar in einem Schritt, wie folgt." in text.replace("`", "")
    assert "$ dd bs=1\n$ sync" in text
    assert "本手册介绍软件包管理的基本概念" in text
    assert "Statt dd kann hier auch das dafür gemachte fallocate verwendet werden, wo es eines gibt." in text.replace(
        "`", ""
    )


@pytest.mark.parametrize("text", ["", "<div>" * 50_000, "no markup", "\0" * 1000, "<a <b <c" * 10_000])
def test_junk_is_a_row_without_text(text: str, tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text(text)
    (row,) = html.read(tmp_path / "a.html", ReadLimits())
    assert (row.error, row.values["title"]) == ("", "a")


def test_a_page_of_megabytes_is_counted_as_oversized_and_not_parsed(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text("<p>The mill of Arden.</p>" * 100)
    manifest = corpus.resolve(str(tmp_path / "a.html")).model_copy(update={"limits": ReadLimits(doc_chars=200)})
    with pytest.raises(CorpusError, match="1 of more than 200 characters"):
        corpus.load(manifest)


def test_a_page_whose_marks_would_take_minutes_is_a_bad_row(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    attributes = " ".join(f"a{n}={n}" for n in range(50_000))
    pages = {
        "attributes": PAGE.replace("<p>It", f"<p {attributes}>It"),
        "quoted": PAGE.replace("<p>It", f"<p title='>' {attributes}>It"),
        "bare": PAGE.replace("<p>It", f"<p {' '.join(f'a{n}' for n in range(50_000))}>It"),
        "closed script": PAGE.replace("<p>It", f"<script/><p {attributes}>It"),
        "tags": PAGE.replace("<p>It", "<dt>a<dd>b" * 60_000),
    }
    start = time.process_time()
    for name, make_page in pages.items():
        (tmp_path / f"{name}.html").write_text(make_page)
        (row,) = html.read(tmp_path / f"{name}.html", ReadLimits())
        assert row.error == "more than 50000 tags, or too many attributes in one; split the page"
    assert time.process_time() - start < 5


def test_a_page_of_many_tags_and_attributes_is_read(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    attributes = " ".join(f"data-a{n}='<p>{n}'" for n in range(500))
    (tmp_path / "a.html").write_text(PAGE.replace("<p>It", f"<p {attributes}>It").replace("</nav>", "<a b>c</a>" * 999))
    (row,) = html.read(tmp_path / "a.html", ReadLimits())
    assert not row.error
    assert "its wheel is of oak" in row.values["text"]


def test_without_trafilatura_the_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    (tmp_path / "a.html").write_text(PAGE)
    with pytest.raises(CorpusError, match=r"a\.html: to read HTML files: pip install 'digsite\[html\]'"):
        corpus.load(corpus.resolve(str(tmp_path / "a.html")))


WORDS = {
    "windows-1251": "Пароход «Буревестник» был построен в 1883 году на верфи братьев Тарн в городе Остров. " * 4,
    "iso-8859-1": "Der Dampfer „Möwe“ wurde 1883 für die Nördliche Paketgesellschaft gebaut und kostete 3 000 €. " * 4,
    "gb2312": "这艘轮船于1883年由塔恩父子造船厂建造，长五十八米，属于北方邮船公司，后来在斯凯罗附近沉没。" * 4,
    "shift_jis": "この蒸気船は1883年にターン造船所で建造され、長さは五十八メートルで、北方郵船会社の所有であった。" * 4,
    "euc-kr": "이 증기선은 1883년에 타른 조선소에서 건조되었으며 길이는 오십팔 미터이고 북방 우편선 회사의 소유였다. "
    * 4,
}
DECLARED = {
    "meta": '<!DOCTYPE html><html><head><meta charset="{}">',
    "old meta": "<html><head><META http-equiv=Content-Type content='text/html; charset={}'>",
    "xml": '<?xml version="1.0" encoding="{}"?><html><head>',
}


def make_page(words: str, head: str) -> str:
    return f"{head}<title>{words[:9]}</title></head><body><article><p>{words}</p></article></body></html>"


def read_text(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    (row,) = html.read(path, ReadLimits())
    return str(row.values.get("text", row.error))


@pytest.mark.parametrize("form", DECLARED)
@pytest.mark.parametrize("name", WORDS)
def test_a_page_is_in_the_encoding_that_it_declares(name: str, form: str, tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    written = {"iso-8859-1": "windows-1252"}.get(name, name)
    data = make_page(WORDS[name], DECLARED[form].format(name)).encode(written)
    assert read_text(tmp_path / "a.html", data) == WORDS[name].strip()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("declared", ["windows-1251", "utf-8", "utf-16", "no-such-thing", "hex", "undefined", "idna"])
def test_a_mark_and_utf_8_that_is_some_come_before_what_a_page_declares(
    declared: str, encoding: str, tmp_path: Path
) -> None:
    pytest.importorskip("trafilatura")
    data = make_page(WORDS["gb2312"], DECLARED["meta"].format(declared)).encode(encoding)
    assert read_text(tmp_path / "a.html", data) == WORDS["gb2312"]


def test_a_page_in_another_encoding_than_declared_is_a_bad_row(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    data = make_page(WORDS["windows-1251"], DECLARED["meta"].format("shift_jis")).encode("windows-1251")
    assert "'cp932' codec can't decode" in read_text(tmp_path / "a.html", data)


CONFLUENCE = """<p>The mill was built by <ac:link><ri:page ri:content-title="Heinrich Otto" /></ac:link> and sold to
<ac:link><ri:page ri:content-title="The abbey" ri:space-key="X" /><ac:plain-text-link-body><![CDATA[the monks & nuns]]>
</ac:plain-text-link-body></ac:link> in 1810, as the visitors of that year wrote in their letters home.</p>
<ac:structured-macro ac:name="info" ac:schema-version="1"><ac:parameter ac:name="icon">true</ac:parameter>
<ac:parameter ac:name="title">Mind the wheel of the mill</ac:parameter><ac:rich-text-body><p>It turns by night, and
nobody may stand near it while it does.</p></ac:rich-text-body></ac:structured-macro>
<ac:image><ri:attachment ri:filename="mill.png" /></ac:image><p>The last paragraph says that it burned in 1894.</p>"""


def test_confluence_marks_leave_their_words_and_links(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    (tmp_path / "a.html").write_text(f"<html><body><article><h1>Mill</h1>{CONFLUENCE}</article></body></html>")
    (row,) = html.read(tmp_path / "a.html", ReadLimits())
    text = str(row.values["text"])
    assert "built by Heinrich Otto and sold to the monks & nuns in 1810" in text
    for stays in ("Mind the wheel of the mill", "It turns by night, and nobody may stand", "burned in 1894"):
        assert stays in text
    for gone in ("true", "CDATA", "mill.png"):
        assert gone not in text
    assert row.values["links"] == ["Heinrich Otto\tHeinrich Otto", "The abbey\tthe monks & nuns"]


@pytest.mark.parametrize(
    ("stated", "body", "title"),
    [
        ("Orm mill - Guide", "<div><h2>Keyboard shortcuts</h2></div><main><h1>Orm mill</h1>{}</main>", "Orm mill"),
        (
            "Mill in orm::mills - Lib",
            "<h1>Struct Mill Copy path</h1><main><h2>Fields</h2>{}</main>",
            "Mill in orm::mills",
        ),
        ("Mills | Orm v2", "<header><h1>Orm v2</h1></header><main><h2>Mills</h2>{}</main>", "Mills"),
        ("Orm Herald | The mill burns", "<main><h1>The mill burns</h1>{}</main>", "The mill burns"),
        ("Orm Herald", "<main><h1>The mill burns¶</h1>{}</main>", "The mill burns"),
        ("", "<main><h1>The mill burns</h1>{}</main>", "The mill burns"),
    ],
)
def test_title_is_that_of_the_page_and_not_of_its_menu_or_site(
    tmp_path: Path, stated: str, body: str, title: str
) -> None:
    pytest.importorskip("trafilatura")
    text = "".join(
        f"<p>In the year {year} the mill of Orm ground the corn of the valley.</p>" for year in range(1801, 1809)
    )
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><html><head><title>{stated}</title></head><body>{body.format(text)}</body></html>")
    (row,) = html.read(page, ReadLimits())
    assert row.values["title"] == title
