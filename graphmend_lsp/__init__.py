"""graphmend-lsp: find, mend and measure the lines that split torch.compile graphs."""

__version__ = "0.1.0"
