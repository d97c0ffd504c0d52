"""What the agent and the collections do with what people write, with judges that fail, and with passages of equal score."""
from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[2] / "data" / "corpus"


def _collections(work: Path) -> Any:
    "Three collections with a statute each."
    from ragnb.agent.library import Library
    from ragnb.indexing.collections import index_collections
    for folder, source in (("laws", "law_common/shared_workshop_act.txt"), ("notes", "law_common/care_robot_act.txt"), ("hr_labor", "hr_labor/work_rules.md")):
        (work / "corpus" / folder).mkdir(parents=True)
        shutil.copy(CORPUS / source, work / "corpus" / folder)
    table = {"laws_db": ["laws"], "notes_db": ["notes"], "hr_db": ["hr_labor"]}
    index_collections(work / "corpus", work / "all", table, show_progress=False)
    return Library.open(work / "all", budget=600, top_k=5)


def a_named_article_over_several_collections() -> str:
    "`공유작업장법 제N조` over three collections: how often the article is not in 600 characters"
    from ragnb.agent.library import library_pipeline
    with tempfile.TemporaryDirectory() as place:
        pipeline, missed, asked = library_pipeline(_collections(Path(place)), top_k=5), 0, range(2, 42, 2)
        for number in asked:
            said = [f"제{number}조(" in p.text and "laws_db" in p.doc_id for p in pipeline.ask(f"공유작업장법 제{number}조는 무엇을 정하나요?").passages]
            missed += not any(said)
    return f"not there: {missed} of {len(asked)}"
