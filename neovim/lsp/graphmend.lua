---@brief
---
--- graphmend-lsp finds the lines that make `torch.compile` split its graph, says why, and mends them where that is safe.
---
--- The server is installed with `pip install` into any environment (Python 3.10 or later, no torch needed); `graphmend`
--- has to be on the PATH, or give its full path in `cmd`:
---
--- ```lua
--- vim.lsp.config('graphmend', {
---   cmd = { '/path/to/venv/bin/graphmend', 'server', '--stdio' },
---   settings = {
---     graphmend = {
---       python = '/path/to/project/.venv/bin/python', -- runs your code when you profile or verify
---       workspaceDiagnostics = 'all',
---       severity = { GM2 = 'hint' },
---     },
---   },
--- })
--- vim.lsp.enable('graphmend')
--- ```
---
--- The settings are those of `[tool.graphmend]` in pyproject.toml, and count over it.

---@type vim.lsp.Config
return {
  cmd = { 'graphmend', 'server', '--stdio' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'setup.py', 'setup.cfg', '.git' },
  settings = {
    graphmend = vim.empty_dict(),
  },
  on_exit = function(code, signal)
    if code ~= 0 or (signal ~= 0 and signal ~= 15) then
      vim.schedule(function()
        local ok, plugin = pcall(require, 'graphmend') -- this file works without the rest, too
        if ok then
          plugin.died()
        end
      end)
    end
  end,
}
