"""How well models trained on a release predict original rows, and whether a model can tell the two apart.

Start with `accuracy`. Needs the extra `ml` (scikit-learn).
"""
