--- Runs one group of steps: `DAY=JSON nvim --headless -u NONE -l run.lua`, where JSON has
--- `group` (a file), `workspace`, `plugin` (the folder neovim/), `server` (the command), `python`, and `limit` in seconds.

local spec = vim.json.decode(vim.env.DAY)
package.path = vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2)) .. '/?.lua;' .. package.path
local driver = require('driver')

local editors = {} ---@type Editor[]

local init = [[
vim.opt.runtimepath:append(%q)
vim.g.graphmend = { codelens = true, inlay_hints = true }
vim.diagnostic.config({ virtual_text = true })
vim.lsp.config('graphmend', { cmd = %s, settings = { graphmend = { python = %q } } })
%s
vim.lsp.enable('graphmend')
]]

---Starts an editor in the workspace.
---@param options? { args?: string[], more?: string, user?: boolean, columns?: integer, lines?: integer, limit?: number }
---`more` stands in init.lua before the server is enabled; with `user` the user's own init.lua is read instead
local function start(options)
  options = options or {}
  local text = init:format(spec.plugin, vim.inspect(spec.server), spec.python, options.more or '')
  local editor = driver.start({
    init = not options.user and text or nil,
    workspace = spec.workspace,
    args = options.args,
    columns = options.columns,
    lines = options.lines,
    limit = options.limit or spec.limit,
  })
  table.insert(editors, editor)
  return editor
end

local function tail(path, count)
  local lines = vim.uv.fs_stat(path) and vim.fn.readfile(path) or {}
  return table.concat(vim.list_slice(lines, math.max(#lines - count, 0) + 1), '\n')
end

local ok, problem = xpcall(function()
  local group = assert(loadfile(spec.group))()
  group(start, spec)
end, function(err)
  return type(err) == 'string' and err:find('\n') and err or debug.traceback(tostring(err), 2)
end)
if not ok then
  print('FAILED: ' .. problem)
  for _, editor in ipairs(editors) do
    print('---- screen\n' .. editor:screen())
    local said, messages = pcall(editor.lua, editor, 'return vim.fn.execute("messages")') -- not while a prompt is open
    print('---- messages' .. (said and messages or (': ' .. messages)))
  end
  print('---- log\n' .. tail(vim.lsp.log.get_filename(), 60))
end
for _, editor in ipairs(editors) do
  local closed, why = pcall(editor.close, editor)
  if not closed then
    print('FAILED: ' .. why)
    ok = false
  end
end
vim.cmd(ok and 'qall!' or 'cquit! 1')
