"""Which files are read: patterns, an ignore file, copies, links, hidden folders."""
from __future__ import annotations

import pytest
from conftest import write

from ragnb import InputError, Pipeline, read_documents, update_index
from ragnb.documents.files import find_files, Problem


FILES = {"rule.md": "연차는 15일이다.", "old/rule2.md": "연차는 12일이었다.", "line.log": "E-21 과부하", "q.sql": "select 1", "a.yaml": "---\nport: 80\n",
         "run.py": "print(1)", "photo.png": "x"}


@pytest.mark.parametrize(("include", "exclude", "ignore", "wanted"), [
    ((), (), "", {"rule.md", "old/rule2.md"}),
    (("*.log", "*.sql"), (), "", {"rule.md", "old/rule2.md", "line.log", "q.sql"}), ((), ("old/",), "", {"rule.md"}),
    ((), ("**/rule2.md",), "", {"rule.md"}),
    ((), (), "# not these\nold\n!*.yaml\n!*.py\n", {"rule.md", "a.yaml", "run.py"}),
    (("old/rule2.md",), (), "old/*\n", {"rule.md", "old/rule2.md"}),   # the last pattern that matches decides
])
def test_patterns_of_the_command_line_and_of_the_folder(tmp_path, include, exclude, ignore, wanted):
    write(tmp_path, FILES)
    if ignore:
        (tmp_path / ".ragnbignore").write_text(ignore, encoding="utf-8")
    assert {f.relative_to(tmp_path).as_posix() for f in find_files(tmp_path, [], include=include, exclude=exclude)} == wanted


def test_code_and_configuration_are_read_as_they_are(tmp_path):
    write(tmp_path, FILES)
    read = {d.id_: d for d in read_documents(tmp_path, [], include=["*.yaml", "*.py", "*.log"])}
    assert read["a.yaml"].text == "---\nport: 80\n" and read["a.yaml"].metadata["title"] == "a.yaml"   # no front matter
    assert read["line.log"].text == "E-21 과부하"


def test_what_is_skipped_names_the_way_out_and_what_was_asked_for_does_not_count(tmp_path):
    write(tmp_path, FILES | {".git/a.md": "x"})
    told: list[Problem] = []
    find_files(tmp_path, told, exclude=["old/"])
    lines = {str(p): p.n for p in told}
    assert lines["line.log: a kind of file that is not read; --include '*.log' reads it as text"] == 1
    assert lines[".git: hidden folders are not read"] == 0 and lines["old/: left out by .ragnbignore or --exclude"] == 0


def test_one_file_of_another_kind_is_read_by_asking(tmp_path):
    file = write(tmp_path, FILES) / "line.log"
    with pytest.raises(InputError, match="--include PATTERN"):
        find_files(file)
    assert [d.text for d in read_documents(file, [], include=["*.log"])] == ["E-21 과부하"]


def test_copies_and_links_are_read_once_and_found_in_each_folder(tmp_path):
    corpus = write(tmp_path / "corpus", {"백업/a.md": "소액구매는 80만 원 이하이다.", "규정/a.md": "소액구매는 80만 원 이하이다.",
                                         "규정/b.md": "긴급구매는 48시간 안에 낸다.", "빈 글.txt": "", "빈 글2.txt": ""})
    (corpus / "영업").mkdir()
    (corpus / "영업" / "link.md").symlink_to(corpus / "규정" / "a.md")
    index, report = update_index(corpus, tmp_path / "index", show_progress=False)
    assert index.doc_ids == ["규정/a.md", "규정/b.md"]
    assert {str(p) for p in report.problems if not p.n} == {f"{name}: the same file as 규정/a.md, read once" for name in ("백업/a.md", "영업/link.md")}
    for folder in ("규정", "백업", "영업"):
        found = Pipeline.from_index(index, where=f"folder={folder}").ask("소액구매는 얼마?").passages
        assert found and found[0].doc_id == "규정/a.md" and found[0].metadata["copies"] == ["백업/a.md", "영업/link.md"]
    (corpus / "규정" / "a.md").unlink()
    (corpus / "영업" / "link.md").unlink()
    assert update_index(corpus, tmp_path / "index", show_progress=False)[0].doc_ids == ["규정/b.md", "백업/a.md"]


def test_everything_is_read_where_a_program_asks_for_everything(tmp_path):
    write(tmp_path, {"a.md": "같은 글", "b.md": "같은 글"})
    assert [d.id_ for d in read_documents(tmp_path, [])] == ["a.md", "b.md"]


def test_a_bad_pattern_is_named(tmp_path):
    write(tmp_path, FILES)
    with pytest.raises(InputError, match="pattern"):
        find_files(tmp_path, exclude=["a[z-a"]) and find_files(tmp_path, exclude=["!"])
