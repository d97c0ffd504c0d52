"""Three texts in two languages, as documents: what the tests of trained embeddings search."""
from pathlib import Path

TEXTS = ["퇴직하는 직원은 남은 연차를 수당으로 받을 수 있다.", "식각장비 GN-300의 진공펌프는 매월 점검한다.", "The chiller must be drained before maintenance."]


def write_documents(folder: Path) -> Path:
    """A new folder with a document for each text."""
    folder.mkdir()
    for i, text in enumerate(TEXTS):
        (folder / f"{i}.md").write_text(f"# 문서 {i}\n\n{text}\n", encoding="utf-8")
    return folder
