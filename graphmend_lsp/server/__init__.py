"""The language server: one file a feature, thin around ``graphmend_lsp.check``."""
