"""Build script: every value comes from settings.ini."""
import os
import re
import sys
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

here = Path(__file__).parent
config = ConfigParser(delimiters=["="])
config.read(here / "settings.ini", encoding="utf-8")
cfg = config["DEFAULT"]
sample = f"{cfg['lib_path']}._sample"
# of a clone the folder itself is put on the path (it has the sample data), so that Python finds the package also beside a clone that has its name
is_clone = "editable_wheel" in sys.argv


def lines(name: str) -> list[str]:
    """Requirements of one key, one a line."""
    return [line.strip() for line in cfg.get(name, "").splitlines() if line.strip()]


def where() -> str:
    """Address of the repository: of the GitHub workflow that this runs in, else of settings.ini, if it is one."""
    name = os.environ.get("GITHUB_REPOSITORY")
    if name:
        return f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}"
    return "" if ".invalid" in cfg["git_url"] else cfg["git_url"]


def readme() -> str:
    """The README; with an address of the repository its links work on PyPI too."""
    place = here / "README.md"
    text = place.read_text(encoding="utf-8") if place.exists() else ""
    if not where():
        return text
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\1{where()}/raw/{cfg['branch']}/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\1{where()}/blob/{cfg['branch']}/", text)


def urls() -> dict[str, str]:
    """Links of the page on PyPI; none without a repository."""
    return {"Source": where(), "Changelog": f"{where()}/blob/{cfg['branch']}/CHANGELOG.md"} if where() else {}


setup(
    name=cfg["lib_name"],
    version=cfg["version"],
    description=cfg["description"],
    long_description=readme(),
    long_description_content_type="text/markdown",
    author=cfg["author"],
    author_email=None if cfg["author_email"].endswith(".invalid") else cfg["author_email"],
    keywords=cfg["keywords"].split(),
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Natural Language :: English",
        "Natural Language :: Korean",
        "Operating System :: OS Independent",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Topic :: Text Processing :: Indexing",
        "Typing :: Typed",
    ],
    license="Apache-2.0",
    project_urls=urls(),
    packages=[*find_packages(include=[cfg["lib_path"], f"{cfg['lib_path']}.*"]), *([] if is_clone else [sample])],
    package_dir={"": "."} if is_clone else {sample: "data"},   # so that `ragnb demo` runs where nothing but the wheel is
    package_data={cfg["lib_path"]: ["py.typed", "*.pyi", "*/*.html", "*/*.css", "*/*.json"], sample: [f"**/*.{kind}" for kind in ("md", "txt", "jsonl")]},
    python_requires=f">={cfg['min_python']}",
    install_requires=lines("requirements"),
    extras_require={key.removesuffix("_requirements"): lines(key) for key in cfg if key.endswith("_requirements")},
    entry_points={
        "nbdev": [f"{cfg['lib_path']}={cfg['lib_path']}._modidx:d"],
        "console_scripts": ["ragnb=ragnb.cli:main"],
    },
)
