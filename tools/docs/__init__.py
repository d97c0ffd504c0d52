"""The documentation site: stored notebooks to Markdown, Markdown to pages (Zensical), and what checks them.

Nothing of a notebook is run, and no page asks another host for anything.
"""
