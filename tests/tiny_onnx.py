"""A cross-encoder of a dozen ONNX nodes, written byte by byte: it scores a pair by the words both texts hold."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

INT64, FLOAT = 7, 1


def field(number: int, value: int | str | bytes) -> bytes:
    """One field of a protobuf message."""
    def varint(n: int) -> bytes:
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(kind: str, inputs: Sequence[str], output: str, to: int | None = None) -> bytes:
    """An operator; `to` is the type that a Cast gives."""
    out = b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, kind)
    return out + (b"" if to is None else field(5, field(1, "to") + field(20, 2) + field(3, to)))


def constant(name: str, values: Sequence[int]) -> bytes:
    """A list of whole numbers."""
    return field(1, len(values)) + field(2, INT64) + field(8, name) + field(9, np.array(values, np.int64).tobytes())


def place(name: str, kind: int, *dims: str | int) -> bytes:
    """An input or output."""
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def write_model(path: Path, doubled: bool = False) -> None:
    """Write model.onnx: words of the second text that the first one holds; `doubled` gives two logits, no and yes."""
    ops = [
        node("Greater", ["input_ids", "special"], "isword"), node("Cast", ["isword"], "word", FLOAT),
        node("Cast", ["attention_mask"], "mask", FLOAT), node("Cast", ["token_type_ids"], "second", FLOAT),
        node("Mul", ["word", "mask"], "kept"), node("Mul", ["kept", "second"], "inside"), node("Sub", ["kept", "inside"], "asked"),
        node("Unsqueeze", ["input_ids", "two"], "down"), node("Unsqueeze", ["input_ids", "one"], "across"),
        node("Equal", ["down", "across"], "same"), node("Cast", ["same"], "shared", FLOAT),
        node("Unsqueeze", ["asked", "one"], "row"), node("Unsqueeze", ["inside", "two"], "column"),
        node("MatMul", ["row", "shared"], "found"), node("MatMul", ["found", "column"], "sum"),
        node("Squeeze", ["sum", "two"], "yes")]
    if doubled:
        axis = field(5, field(1, "axis") + field(20, 2) + field(3, 1))
        ops += [node("Neg", ["yes"], "no"), node("Concat", ["no", "yes"], "logits") + axis]
    else:
        ops.append(node("Identity", ["yes"], "logits"))
    inputs = [place(name, INT64, "batch", "length") for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join(field(1, o) for o in ops) + field(2, "overlap")
    graph += b"".join(field(5, constant(*c)) for c in (("special", [2]), ("one", [1]), ("two", [2])))
    graph += b"".join(field(11, i) for i in inputs) + field(12, place("logits", FLOAT, "batch", 2 if doubled else 1))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))


def write_cross_encoder(folder: Path, texts: Sequence[str], doubled: bool = False) -> str:
    """Write model.onnx and tokenizer.json for the words of some texts; returns the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    split = pre_tokenizers.Whitespace()
    words = dict.fromkeys(word for t in texts for word, _ in split.pre_tokenize_str(t))
    vocabulary = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2} | {w: i for i, w in enumerate(words, 3)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = split
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_model(folder / "model.onnx", doubled)
    return str(folder)


def float_constant(name: str, values: np.ndarray) -> bytes:
    """A table of numbers."""
    return b"".join(field(1, n) for n in values.shape) + field(2, FLOAT) + field(8, name) + field(9, values.astype(np.float32).tobytes())


def write_embedder(folder: Path, texts: Sequence[str], dims: int = 24) -> str:
    """Write a sentence embedder: a row of random numbers for each word, which its reader averages; returns the folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    split = pre_tokenizers.Whitespace()
    pieces = dict.fromkeys(word[i:i + 2] for t in texts for word, _ in split.pre_tokenize_str(t) for i in range(0, len(word), 2))
    vocabulary = {"[UNK]": 0} | {w: i for i, w in enumerate(pieces, 1)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary | {f"##{w}": len(vocabulary) + i for i, w in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = split
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    weights = np.random.default_rng(7).standard_normal((len(vocabulary) + len(pieces), dims))
    graph = field(1, node("Gather", ["weights", "input_ids"], "hidden")) + field(2, "lookup")
    graph += field(5, float_constant("weights", weights))
    graph += field(11, place("input_ids", INT64, "batch", "length")) + field(12, place("hidden", FLOAT, "batch", "length", dims))
    (folder / "model.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
    return str(folder)
