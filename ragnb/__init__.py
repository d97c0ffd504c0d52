__version__ = "0.1.0"


def __getattr__(name: str):
    """Load a public name on first use, so that `import ragnb` stays light."""
    from importlib import import_module

    from ._modidx import d

    if not name.startswith("_"):
        for module, symbols in d["syms"].items():
            if f"{module}.{name}" in symbols:
                return getattr(import_module(module), name)
    raise AttributeError(f"module 'ragnb' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Public names of every module, for completion."""
    from ._modidx import d

    names = {s.rsplit(".", 1)[1] for symbols in d["syms"].values() for s in symbols if s.count(".") == 2}
    return sorted(n for n in names if not n.startswith("_"))
