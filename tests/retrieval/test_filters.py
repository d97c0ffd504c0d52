"""`where=`: one meaning in Python and in every store, nothing lost inside it, nothing outside it by any way."""
from __future__ import annotations

import itertools
import json
import re

import chromadb
import pytest
from conftest import write
from hypothesis import given, strategies as st
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters
from strategies import examples

from ragnb import (Bm25Retriever, ChromaStore, Conversation, Expander, HierarchicalRetriever, HybridRetriever,
                   HydeRetriever, InputError, MemoryStore, MultiQueryRetriever, MultiScaleRetriever, NgramEmbedding,
                   ParentChildNodeParser, Pipeline, Span, UnitNodeParser, update_index, VectorRetriever)
from ragnb.cli import main
from ragnb.context.display import display_docs
from ragnb.documents.kinds import Catalogue
from ragnb.expansion.policy import Place, policy_name, QuestionPolicy, resolve_policy
from ragnb.models.scripted import ScriptedLLM
from ragnb.retrieval.hierarchical import build_tree
from ragnb.retrieval.sqlite_units import SqliteUnits, UnitWriter
from ragnb.storage.filtered import filtered_store, FilteredStore
from ragnb.storage.filters import chroma_where, Condition, Group, OPERATORS, resolve_where, seen_metadata
from ragnb.storage.store import ChunkStore, embed_nodes

_number = itertools.count()
KINDS = ["manual", "law", None]


def chroma() -> ChromaStore:
    name = f"filters{next(_number)}"
    return ChromaStore(client=chromadb.EphemeralClient(), children=f"{name}-children", parents=f"{name}-parents")


def documents(n: int = 9) -> list[Document]:
    """Documents that differ in little more than their metadata; every third one has none. Each cites another one."""
    out = []
    for i in range(n):
        kind = KINDS[i % 3]
        text = "\n\n".join(
            f"# 제{j}장 출장\n\n제{j}조(일비) {i}번 지점의 출장 일비는 하루 {i + j}만원이다. 정산은 귀사 후 {j}일 안에 한다. "
            f"영수증은 {j}년 동안 보관한다." for j in range(1, 5))
        metadata = {} if kind is None else {"doc_type": kind, "year": 2018 + i, "title": f"지점 {i}"}
        starts = [text.index(f"# 제{j}장") for j in range(1, 5)]
        out.append(Document(text=text, id_=f"d{i}.md", metadata=metadata | {"page_starts": starts}))
    return out


def filled(store: ChunkStore, parser) -> tuple[ChunkStore, NgramEmbedding, list[TextNode]]:
    """A store with the documents, their embedding and the nodes that are searched."""
    parsed = [parser.parse(d) for d in documents()]
    nodes = [n for found, _ in parsed for n in found]
    searched = [n for n in nodes if n.metadata["level"] in "ucsr"]
    model = NgramEmbedding(dims=16).fit([n.text for n in searched])
    embed_nodes(searched, model)
    store.put(nodes, [o for _, o in parsed])
    return store, model, searched


CHILDREN = ParentChildNodeParser(parent_size=120, parent_overlap=0, child_size=40, child_overlap=10)


@pytest.fixture(scope="module", params=["memory", "chroma"])
def children(request):
    return filled(MemoryStore() if request.param == "memory" else chroma(), CHILDREN)


@pytest.fixture(scope="module", params=["memory", "chroma"])
def units(request):
    """A store of units, with its multi-scale index."""
    store, model, words = filled(MemoryStore() if request.param == "memory" else chroma(), UnitNodeParser())
    index = SqliteUnits()
    outlines = store.get_outlines(store.doc_ids()).all()
    ids = [a for o in outlines.values() for a in o.addresses()]
    nodes = list(store.get_chunks(ids).all().values())
    embed_nodes(nodes, model)
    UnitWriter(index).add(nodes, list(outlines.values()))
    return store, model, words, index


values = st.sampled_from([0, 1, 2, 1.0, 1.5, True, False, "1", "a", "b", ""])
keys = st.sampled_from(["x", "y"])


@st.composite
def conditions(draw) -> Condition:
    sign = draw(st.sampled_from(OPERATORS))
    if sign in ("in", "nin"):
        return Condition(draw(keys), sign, tuple(draw(st.lists(values, min_size=1, max_size=3))))
    allowed = values.filter(lambda v: not isinstance(v, bool)) if sign[0] in "<>" else values
    return Condition(draw(keys), sign, draw(allowed))


filters = st.recursive(conditions(), lambda inner: st.builds(
    Group, st.sampled_from(["and", "or", "not"]), st.lists(inner, min_size=1, max_size=3).map(tuple)), max_leaves=5)
METADATA = [{}, {"x": 1}, {"x": 1.0, "y": "a"}, {"x": True}, {"x": "1", "y": 2}, {"x": "a"}, {"x": 1.5, "y": False}, {"y": 0},
            {"x": [1, "a"], "y": "a"}, {"x": ["b", 2.0]}, {"x": []}]


@pytest.fixture(scope="module")
def both() -> list[ChunkStore]:
    """The same few chunks in memory and in Chroma."""
    stores = [MemoryStore(), chroma()]
    for i, metadata in enumerate(METADATA):
        document = Document(text=f"{i}번 글이다.", id_=f"d{i}", metadata=metadata)
        nodes, outline = ParentChildNodeParser(parent_size=40, parent_overlap=0, child_size=20, child_overlap=0).parse(document)
        for node in nodes:
            node.embedding = [1.0, float(i)] if node.metadata["level"] == "c" else None
        for store in stores:
            store.put(nodes, [outline])
    return stores


@examples(240)
@given(where=filters)
def test_every_store_means_what_python_means(both, where):
    expected = {f"d{i}#c0" for i, metadata in enumerate(METADATA) if where.holds(metadata)}
    assert all(Group("not", (where,)).holds(m) == Group("not", (where, where)).holds(m) != where.holds(m) for m in METADATA)
    for store in both:
        assert store.matching(where) == expected
        assert {h.node_id for h in store.search([1, 0.5], 20, where)} == expected


def test_llama_index_filters_in_all_their_operators():
    signs = {op for op in FilterOperator if op.value in OPERATORS}
    known = signs | {FilterOperator.CONTAINS, FilterOperator.ANY, FilterOperator.ALL}     # of lists
    assert len(signs) == len(OPERATORS)
    for op in FilterOperator:
        value = ["a"] if op.value in ("in", "nin", "any", "all") else "a"
        where = MetadataFilters(filters=[MetadataFilter(key="x", value=value, operator=op)])
        if op in known:
            assert isinstance(resolve_where(where), (Condition, Group))
        else:
            with pytest.raises(InputError, match=op.value):
                resolve_where(where)
    nested = MetadataFilters(condition="not", filters=[MetadataFilters(condition="or", filters=[
        MetadataFilter(key="x", value=1), MetadataFilter(key="y", value=["a", "b"], operator="in")])])
    assert [resolve_where(nested).holds(m) for m in METADATA] == [
        not (m.get("x") == 1 and m.get("x") is not True or m.get("y") == "a") for m in METADATA]


def test_what_chroma_cannot_say_is_still_meant():
    assert chroma_where(resolve_where("date>=2020-01-31")) is None
    assert chroma_where(Group("not", (Condition("x", "<", 2),))) is None
    assert chroma_where(resolve_where({"#x": 1})) is None and chroma_where(resolve_where({"x": 2**70})) is None


@pytest.mark.parametrize("where", ["", "year", "=1", "year >> 3", "year><3", "year>=!3", {"x": None}, {"x": []}, {"": 1}, {"x": float("nan")}, {"x": {"$gt": 1}}, 3, [3], b"x=1"])
def test_filters_that_mean_nothing_are_refused(where, children):
    with pytest.raises(InputError, match="where"):
        children[0].search([1.0] * 16, where=where)
    with pytest.raises(InputError, match="where"):
        Bm25Retriever(children[2], where=where)


WHERES = ["doc_type=manual", "doc_type!=manual", "year>=2023", {"doc_type": ["law", "x"]}, "page=3",
          MetadataFilters(condition="not", filters=[MetadataFilter(key="doc_type", value="law")]), ["year<2024", "page in 1,2"],
          "doc_type=nothing"]
QUESTION = "출장 일비는 하루 얼마인가?"


def retrievers(store, model, words, where, top_k: int) -> dict[str, BaseRetriever]:
    """Every retriever over a store of chunks."""
    def hybrid(where=None) -> HybridRetriever:
        members = {"bm25": Bm25Retriever(words, top_k=top_k), "vector": VectorRetriever(store, model, top_k)}
        return HybridRetriever(members, top_k, where=where)
    wordings = ScriptedLLM('["하루 일비", "정산 기한"]')
    return {"bm25": Bm25Retriever(words, top_k=top_k, where=where),
            "vector": VectorRetriever(store, model, top_k, where=where), "hybrid": hybrid(where),
            "multi-query": MultiQueryRetriever(hybrid(), wordings, top_k=top_k, where=where),
            "hyde": HydeRetriever(hybrid(), ScriptedLLM("일비는 만원이다."), model, where=where)}


@pytest.fixture(scope="module")
def unfiltered(children) -> dict[str, list[NodeWithScore]]:
    """Everything that each retriever finds without a filter."""
    store, model, words = children
    return {name: r.retrieve(QUESTION) for name, r in retrievers(store, model, words, None, len(list(store.texts("c")))).items()}


@pytest.mark.parametrize("where", WHERES, ids=str)
def test_top_k_among_what_is_let_through(children, unfiltered, where):
    store, model, words = children
    allowed = store.matching(where)
    wanted = resolve_where(where)
    ids = [i for i, _ in store.texts("c")]
    assert allowed == {i for i, n in store.get_chunks(ids).found.items() if wanted.holds(seen_metadata(n))}
    for name, retriever in retrievers(store, model, words, where, 5).items():
        expected = [h for h in unfiltered[name] if h.node_id in allowed]
        found = retriever.retrieve(QUESTION)
        assert {h.node_id for h in found} <= allowed
        assert len(found) == min(5, len(expected)), name
        if name in ("bm25", "vector"):  # scores are those of the whole index; fused ranks close up
            assert [h.node_id for h in found] == [h.node_id for h in expected[:5]], name
            assert [h.score for h in found] == pytest.approx([h.score for h in expected[:5]], abs=1e-6)


@pytest.mark.parametrize("where", WHERES, ids=str)
def test_multi_scale_finds_all_that_is_let_through_the_best_first(units, where):
    """Scores compare the units that may be found, so ranks may differ a little from those of the whole corpus."""
    store, model, _, index = units
    allowed = store.matching(where)
    whole = MultiScaleRetriever(index, store, model, candidates=None, top_k=1_000)
    part = MultiScaleRetriever(index, store, model, candidates=None, top_k=1_000, where=where)
    expected = [h for h in whole.retrieve(QUESTION) if h.node_id in allowed]
    found = part.retrieve(QUESTION)
    assert {h.node_id for h in found} == allowed and [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert {h.node_id for h in found[:1]} <= {h.node_id for h in expected[:3]}
    few = MultiScaleRetriever(index, store, model, candidates=3, grow=0, whole=0, top_k=3, where=where)
    assert len(few.retrieve(QUESTION)) == min(3, len(allowed))


def test_hierarchical_draws_its_beams_among_what_is_let_through():
    model = NgramEmbedding(dims=16).fit([d.text for d in documents()])
    tree = build_tree(documents(), model)
    for where, beams in itertools.product(["doc_type=law", "doc_type!=law", "year>=2025"], [{}, {"n_documents": 1, "n_sections": 1}]):
        wanted = resolve_where(where)
        allowed = {n.node_id for n in tree.units if wanted.holds(seen_metadata(n))}
        found = HierarchicalRetriever(tree, model, 5, where=where, **beams).retrieve(QUESTION)
        again = HierarchicalRetriever(tree, model, 5, **beams).filtered(where).retrieve(QUESTION)
        assert found and {h.node_id for h in found} <= allowed and [h.node_id for h in found] == [h.node_id for h in again]


def test_filters_add_up(children):
    store, model, words = children
    law = Bm25Retriever(words, top_k=50, where="doc_type=law")
    recent = law.filtered("year>=2022")
    ids = {h.node_id for h in recent.retrieve(QUESTION)}
    assert ids == store.matching(["doc_type=law", "year>=2022"]) and ids < {h.node_id for h in law.retrieve(QUESTION)}
    nodes, outline = CHILDREN.parse(documents()[1])
    mapping = Bm25Retriever([n for n in nodes if n.metadata["level"] == "c"], where="page=2")
    assert {h.node.metadata["page"] for h in mapping.retrieve("출장")} == {2}


def test_a_question_costs_no_read_more(children, units):
    store, model, words = children
    for retriever in retrievers(store, model, words, "doc_type=law", 5).values():
        plain = retriever.retrieve(QUESTION)
        before = store.reads
        again = retriever.retrieve(QUESTION)
        cost = store.reads - before
        assert [h.node_id for h in again] == [h.node_id for h in plain] and cost <= 6  # two collections, three wordings
    store, model, _, index = units
    ranked = MultiScaleRetriever(index, store, model, where="doc_type=law")
    ranked.retrieve(QUESTION)
    before = store.reads
    for _ in range(5):
        ranked.rank(QUESTION).at(500)
    assert store.reads - before <= 5 * 3


def test_a_retriever_that_cannot_be_filtered_is_refused(children):
    class Stock(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return []
    with pytest.raises(InputError, match="Stock cannot be filtered"):
        HybridRetriever({"stock": Stock()}, where="x=1")


def other_documents(store) -> list[Place]:
    """A place in every document: what an eager citation policy would bring."""
    return [Place(i, Span(0, 60), f"cited {i}", "cited") for i in store.doc_ids()]


def policies(store, model) -> list:
    """Every policy that there is, and one that cites everything."""
    places = other_documents(store)
    everywhere = QuestionPolicy("everywhere", lambda s: lambda outline, hit: [outline.span_of(hit), *places], lambda hits: store.doc_ids())
    names = ["none", "neighbors:3", "siblings:3", "parent", "adaptive", "pages:3", "document", "doc_type", "auto-merge:0", "section:1",
             "section", "segments", "neighbors:1+section"]
    cite = resolve_policy("citations", catalogue=lambda doc_id, span: places)
    return [*map(resolve_policy, names), resolve_policy("llm", llm=ScriptedLLM("[9, 9, 9, 9, 9]")), cite, everywhere]


def outside(store, allowed: frozenset[str], passages) -> list[str]:
    """Chunks and characters of passages that a filter keeps back."""
    out = [i for p in passages for i in (*p.hits, *p.neighbors) if i not in allowed]
    outlines = store.get_outlines(store.doc_ids()).all()
    for p in passages:
        mine = [a for a in outlines[p.doc_id].addresses() if a in allowed]
        spans = [outlines[p.doc_id].levels[a.rpartition("#")[2][0]][int(a.rpartition("#")[2][1:])] for a in mine]
        held = {c for s in spans for c in range(s.start, s.end)}
        out += [f"{p.id}: {c!r}" for at, c in enumerate(p.text, p.span.start) if at not in held and not c.isspace()]
    return out


@pytest.mark.parametrize("where", WHERES, ids=str)
def test_no_policy_reads_past_a_filter(children, where):
    store, model, words = children
    allowed, part = store.matching(where), filtered_store(store, where)
    hits = VectorRetriever(store, model, 6, where=where).retrieve(QUESTION)
    strangers = VectorRetriever(store, model, 6).retrieve(QUESTION)
    raw = [NodeWithScore(node=TextNode(id_=h.node_id, text=h.node.text), score=h.score) for h in strangers]
    for policy in policies(store, model):
        for given in (hits, strangers, raw):
            before = store.reads
            expansion = Expander(part, policy, max_chunks=30).expand(given, QUESTION)
            assert outside(store, allowed, expansion.passages) == [], policy_name(policy)
            assert {h.node_id for h in given if h.node_id in allowed} <= {i for p in expansion.passages for i in p.hits}
            assert set(expansion.outlines) <= {i.partition("#")[0] for i in allowed} and not any(
                i.partition("#")[0].partition("@")[0] not in {a.partition("#")[0] for a in allowed} for i in expansion.dropped)
            assert expansion.stats.reads <= 2 and store.reads - before <= 4
        assert display_texts(expansion.passages, part, allowed) <= allowed_texts(store, allowed)


def display_texts(passages, store, allowed) -> set[str]:
    """The pages that are shown of passages through a store."""
    shown = display_docs(passages, store, page_window=2, whole=("law", "manual"), n_shown=None)
    return {d.doc_id for d in shown if any(p.text for p in d.pages)}


def allowed_texts(store, allowed) -> set[str]:
    return {i.partition("#")[0] for i in allowed}


def test_a_filter_that_lets_all_through_changes_nothing(children):
    store, model, words = children
    part = FilteredStore(store, "doc_type!=nothing")
    hits = VectorRetriever(store, model, 6).retrieve(QUESTION)
    for policy in policies(store, model):
        plain, same = (Expander(s, policy).expand(hits, QUESTION) for s in (store, part))
        assert [(p.id, p.text, p.hits, p.neighbors) for p in plain.passages] == [(p.id, p.text, p.hits, p.neighbors) for p in same.passages]


@pytest.mark.parametrize("where", WHERES, ids=str)
def test_multi_scale_passages_leads_and_citations_stay_inside(units, where):
    store, model, _, index = units
    places = [(i, Span(0, 400), f"cited {i}") for i in store.doc_ids()]
    allowed = store.matching(where)
    retriever = MultiScaleRetriever(index, store, model, where=where, leads=lambda q: places, follow=lambda d, s: places)
    for budget in (50, 300, 5_000):
        passages = retriever.rank(QUESTION).at(budget)
        assert outside(store, allowed, passages) == [] and bool(passages) == bool(allowed)
    catalogue = Catalogue.from_documents(documents())
    led = MultiScaleRetriever(index, store, model, where=where, leads=catalogue.named,
                              follow=catalogue.cited)
    assert outside(store, allowed, led.rank("제3조의 일비").at(2_000)) == []


def test_a_conversation_does_not_bring_back_what_is_outside(children):
    store, model, words = children
    whole = Expander(store, resolve_policy("neighbors:2")).expand(VectorRetriever(store, model, 9).retrieve(QUESTION)).passages
    talk = Conversation()
    talk.add(QUESTION, "", whole)
    law = filtered_store(store, "doc_type=law")
    back = talk.passages(law).passages
    assert {p.doc_id for p in whole} - {p.doc_id for p in back} and outside(store, law.matching(), back) == []


def test_a_filter_that_fits_nothing_is_explained_and_a_folder_can_be_asked_for(tmp_path, capsys):
    write(tmp_path / "docs", {name: f"---\ndoc_type: {name.partition('/')[0]}\n---\n# 휴가\n\n연차는 15일이다. {name}\n"
                              for name in ("faq/a.md", "faq/old/b.md", "manual/c.md")})
    place = str(tmp_path / "index")
    index, _ = update_index(tmp_path / "docs", place, show_progress=False)

    def found(where):
        return {p.doc_id for p in Pipeline.from_index(index, where=where).ask("연차는 며칠?").passages}
    assert found("folder=faq") == {"faq/a.md", "faq/old/b.md"} and found("path=faq/old") == {"faq/old/b.md"}
    assert found({"folder": "manual"}) == {"manual/c.md"} and found("folder!=faq") == {"manual/c.md"}
    for where, told in (("folder=fag", "no document has folder 'fag'; there are: faq, faq/old, manual"),
                        ("doc_type=manul", "no document has doc_type 'manul'; there are: faq, manual"),
                        ("team=hr", "no document has 'team'; known keys: doc_id, doc_type")):
        assert main(["ask", "연차는 며칠?", "--index", place, "--where", where]) == 2
        err = capsys.readouterr().err
        assert told in err
        if "known keys" in err:
            assert "; for a folder: folder=NAME; to set 'team', begin a .md or .txt file with three lines" in err
        with pytest.warns(UserWarning, match=told.split(";")[0]):
            assert found(where) == set()
    assert main(["ls", "--index", place]) == 0
    assert "--where takes: doc_id, doc_type" in capsys.readouterr().out
    assert "split: None" not in repr(index)


def test_what_the_message_says_about_setting_a_key_is_true(tmp_path, capsys):
    """The header and the field that it tells of are followed; `ls` tells the same while no document has the key."""
    docs, place = tmp_path / "docs", str(tmp_path / "index")
    write(docs, {"a.md": "# 밸브\n\n압력은 3바이다.", "b.md": "# 문의\n\n압력은 계기판에서 본다."})
    asked = ["ask", "압력은?", "--index", place, "--where", "doc_type=manual"]
    assert main(["index", str(docs), "--index", place, "--quiet"]) == 0 and main(asked) == 2
    told = capsys.readouterr().err
    assert "three lines, ---, doc_type: VALUE and ---" in told and "a .jsonl line a field 'doc_type'" in told
    assert main(["ls", "--index", place]) == 0 and "doc_type: manual" in capsys.readouterr().out
    (docs / "a.md").write_text("---\ndoc_type: manual\n---\n# 밸브\n\n압력은 3바이다.", encoding="utf-8")
    (docs / "c.jsonl").write_text('{"doc_id": "c", "text": "압력은 둘이다.", "doc_type": "manual"}', encoding="utf-8")
    assert main(["index", str(docs), "--index", place, "--quiet"]) == main(asked) == 0
    out = capsys.readouterr().out
    assert "a.md" in out and "(c" in out and "b.md" not in out
    assert main(["ls", "--index", place]) == 0 and "says its doc_type" not in capsys.readouterr().out


TAGS = {"a.md": ["안전", "소방"], "b.md": ["보안"], "c.md": ["보안", "안전"]}
BOTH = "no document fulfils all of the filter"
LIST_FILTERS = {
    "tags=소방": {"a.md"}, "tags contains 안전": {"a.md", "c.md"}, "tags CONTAINS 안전": {"a.md", "c.md"}, "tags ANY 소방,급식": {"a.md"}, "tags any 보안,소방": set(TAGS),
    "tags in 소방,보안": set(TAGS), "tags ALL 안전,보안": {"c.md"}, "tags!=보안": {"a.md"}, "tags=급식": "no document has tags '급식'", "tags contains 급식": "no document has tags '급식'",
    "tags ANY 급식,교육": "no document has tags '급식' or '교육'", "tag=소방": "no document has 'tag' (did you mean 'tags'?)", "tags=소방 tags=급식": "no document has tags '급식'",
    "tags all 소방,보안": BOTH, "tags=소방 tags=보안": BOTH, "tags=소방 doc_id=b.md": BOTH}


@pytest.mark.parametrize("where", LIST_FILTERS)
def test_members_of_a_list_are_found_and_what_no_document_has_is_true(tmp_path, capsys, where):
    write(tmp_path / "docs", {name: f"---\ntags: [{', '.join(tags)}]\n---\n# 소화기\n\n소화기는 층마다 둔다. {name}\n" for name, tags in TAGS.items()})
    update_index(tmp_path / "docs", tmp_path / "index", show_progress=False)
    conditions = re.findall(r"[a-z_]+(?: \w+ |!?=)\S+", where)
    code = main(["ask", "소화기", "--index", str(tmp_path / "index"), "--json", *(word for one in conditions for word in ("--where", one))])
    out, err = capsys.readouterr()
    if isinstance(right := LIST_FILTERS[where], str):
        assert code == 2 and right in err and ("no document has" in err) == (right != BOTH)
    else:
        assert code == 0 and {p["id"].partition("@")[0] for p in json.loads(out)["passages"]} == right
