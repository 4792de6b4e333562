"""The code that mended functions may need at run time.

`_graphmend.py` stands alone: mending copies that one file into the user's own package by default.
With the setting `runtime = "package"` mended code imports the same names from here.
"""

from graphmend_lsp.runtime._graphmend import (
    graph_each,
    graph_effect,
    graph_int,
    graph_list,
    graph_mask,
    graph_nonzero,
    select,
)

__all__ = ["graph_each", "graph_effect", "graph_int", "graph_list", "graph_mask", "graph_nonzero", "select"]
