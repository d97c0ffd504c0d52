"""The names that most users need, for editors and type checkers; `__init__.py` loads them when they are used."""

from .documents.files import (
    read_documents as read_documents,
    sample_data as sample_data,
)
from .documents.span import (
    Address as Address,
    DuplicateIdError as DuplicateIdError,
    IndexMismatchError as IndexMismatchError,
    InputError as InputError,
    MissingChunkError as MissingChunkError,
    Outline as Outline,
    Passage as Passage,
    RagnbError as RagnbError,
    Span as Span,
)
from .models.embedding import (
    NgramEmbedding as NgramEmbedding,
    resolve_embedding as resolve_embedding,
)
from .models.llm import (
    resolve_llm as resolve_llm,
)
from .models.onnx import (
    OnnxEmbedding as OnnxEmbedding,
)
from .chunking.contextual import (
    ContextualNodeParser as ContextualNodeParser,
    LlmContextNodeParser as LlmContextNodeParser,
)
from .chunking.parent_child import (
    ParentChildNodeParser as ParentChildNodeParser,
)
from .chunking.rules import (
    RoutedNodeParser as RoutedNodeParser,
)
from .chunking.sentence_window import (
    SentenceWindowNodeParser as SentenceWindowNodeParser,
)
from .chunking.structure import (
    HeadingNodeParser as HeadingNodeParser,
    QANodeParser as QANodeParser,
    RecordNodeParser as RecordNodeParser,
    TableNodeParser as TableNodeParser,
    TextNodeParser as TextNodeParser,
)
from .chunking.units import (
    UnitNodeParser as UnitNodeParser,
)
from .storage.chroma import (
    ChromaStore as ChromaStore,
)
from .storage.store import (
    MemoryStore as MemoryStore,
)
from .retrieval.bm25 import (
    Bm25Retriever as Bm25Retriever,
)
from .retrieval.hierarchical import (
    HierarchicalRetriever as HierarchicalRetriever,
)
from .retrieval.hybrid import (
    HybridRetriever as HybridRetriever,
    VectorRetriever as VectorRetriever,
)
from .retrieval.multiscale import (
    MultiScaleRetriever as MultiScaleRetriever,
)
from .retrieval.planning import (
    HydeRetriever as HydeRetriever,
    MultiQueryRetriever as MultiQueryRetriever,
)
from .retrieval.rerank import (
    LLMReranker as LLMReranker,
)
from .expansion.expander import (
    Expander as Expander,
    ExpandPostprocessor as ExpandPostprocessor,
)
from .expansion.fetch import (
    fetch_doc_chunks as fetch_doc_chunks,
    fetch_doc_pages as fetch_doc_pages,
)
from .expansion.policies import (
    adaptive as adaptive,
    by_doc_type as by_doc_type,
    pages as pages,
    section as section,
)
from .expansion.policy import (
    neighbors as neighbors,
    parent as parent,
    siblings as siblings,
)
from .context.builders import (
    RankedContextBuilder as RankedContextBuilder,
    SimpleContextBuilder as SimpleContextBuilder,
)
from .context.compress import (
    Compressor as Compressor,
)
from .context.conversation import (
    Conversation as Conversation,
)
from .context.layouts import (
    DebugContextBuilder as DebugContextBuilder,
)
from .context.reorder import (
    LongContextReorderPostprocessor as LongContextReorderPostprocessor,
)
from .indexing.folder_index import (
    Index as Index,
)
from .indexing.update import (
    index_documents as index_documents,
    update_index as update_index,
)
from .pipeline.answer import (
    Answer as Answer,
    AnswerStream as AnswerStream,
    ModelError as ModelError,
)
from .pipeline.pipeline import (
    Pipeline as Pipeline,
)
from .pipeline.settings import (
    read_settings as read_settings,
)
from .pipeline.trace_data import (
    trace as trace,
)
from .adapters.attach import (
    attach as attach,
)
from .adapters.chunk_expanders import (
    AdaptiveChunkExpander as AdaptiveChunkExpander,
    NeighborChunkExpander as NeighborChunkExpander,
    NoopChunkExpander as NoopChunkExpander,
)
from .adapters.dicts import (
    expand_dicts as expand_dicts,
)
from .agent.flow import (
    Agent as Agent,
)
from .evaluation.comparison import (
    compare as compare,
)
from .evaluation.datasets import (
    load_dataset as load_dataset,
)
from .evaluation.measures import (
    evaluate as evaluate,
)
from .evaluation.strategy import (
    Strategy as Strategy,
)

__version__: str
