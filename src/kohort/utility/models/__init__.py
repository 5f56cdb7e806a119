"""Models: how well models trained on a release predict original rows, and whether a model can distinguish the two.

Start with `accuracy`. Needs the extra `ml` (scikit-learn).
"""
