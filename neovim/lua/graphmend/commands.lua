--- The work of the user commands.

local ui = require('graphmend.ui')

local M = {}

local WARN = vim.log.levels.WARN
local NAME = 'graphmend'
local FIX_ALL = 'source.fixAll.graphmend'

---@return vim.lsp.Client? client the server of the current buffer; if there is none, the user is told
local function running()
  local client = vim.lsp.get_clients({ bufnr = 0, name = NAME })[1]
  if not client then
    ui.tell('GraphMend: no server runs for this buffer. :checkhealth graphmend', WARN)
  end
  return client
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param then_ fun(result: any)
local function request(client, method, params, then_)
  local sent = client:request(method, params, function(err, result)
    if err then
      ui.tell('GraphMend: ' .. err.message, vim.log.levels.ERROR)
    else
      then_(result)
    end
  end, vim.api.nvim_get_current_buf())
  if not sent then
    ui.tell('GraphMend: the server has ended. :GraphMendRestart starts it again.', WARN)
  end
end

---@param client vim.lsp.Client
---@param command string
---@param argument? table
---@param then_? fun(result: any)
local function execute(client, command, argument, then_)
  local params = { command = 'graphmend.' .. command, arguments = argument and { argument } }
  request(client, 'workspace/executeCommand', params, then_ or function() end)
end

---@param client vim.lsp.Client
---@param entry? string
---@return { uri: string, entry?: string, position?: lsp.Position } place the named entry, or the cursor
local function place(client, entry)
  local here = vim.lsp.util.make_position_params(0, client.offset_encoding)
  if entry and entry ~= '' then
    return { uri = here.textDocument.uri, entry = entry }
  end
  return { uri = here.textDocument.uri, position = here.position }
end

---@class graphmend.Place of a finding; columns in bytes
---@field line integer from 0
---@field column integer
---@field last_line integer
---@field last_column integer

---@generic T
---@param items T[] those on the line
---@param where fun(item: T): graphmend.Place
---@param prompt string
---@param none string what to say where there are none
---@param then_ fun(item: T)
local function choose(items, where, prompt, none, then_)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local line, column = cursor[1] - 1, cursor[2]
  local here = vim.tbl_filter(function(item)
    local spot = where(item)
    local begun = spot.line < line or spot.line == line and spot.column <= column
    return begun and (spot.last_line > line or spot.last_line == line and column < spot.last_column)
  end, items)
  items = #here > 0 and here or items
  if #items == 0 then
    ui.tell('GraphMend: ' .. none, WARN)
  elseif #items == 1 then
    then_(items[1])
  else
    local function words(item)
      local spot = where(item)
      local text = vim.api.nvim_buf_get_lines(0, spot.line, spot.line + 1, false)[1] or ''
      return vim.trim(text:sub(spot.column + 1, spot.last_line == spot.line and spot.last_column or #text))
    end
    vim.ui.select(items, { prompt = prompt, format_item = words, kind = NAME }, function(item)
      if item then
        then_(item)
      end
    end)
  end
end

---@param client vim.lsp.Client
---@param only? string[]
---@param then_ fun(actions: lsp.CodeAction[])
local function actions_of_line(client, only, then_)
  local params = vim.lsp.util.make_range_params(0, client.offset_encoding) ---@type table
  local line = params.range.start.line
  local width = vim.str_utfindex(vim.api.nvim_get_current_line(), client.offset_encoding)
  params.range = { start = { line = line, character = 0 }, ['end'] = { line = line, character = width } }
  params.context = { diagnostics = {}, only = only, triggerKind = 1 }
  request(client, 'textDocument/codeAction', params, function(actions)
    then_(actions or {})
  end)
end

---@param client vim.lsp.Client
---@param line integer
---@param character integer in the server's units
---@return integer
local function byte_column(client, line, character)
  local text = vim.api.nvim_buf_get_lines(0, line, line + 1, false)[1] or ''
  return vim.str_byteindex(text, client.offset_encoding, character, false)
end

---@return boolean stopped whether there was something to stop
local function cancel()
  local stopped = false
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME })) do
    for token, title in pairs(client.progress.pending) do
      if require('graphmend').can_stop(title) then
        client:notify('window/workDoneProgress/cancel', { token = token })
        stopped = true
      end
    end
  end
  return stopped
end

local function stop()
  ui.tell(cancel() and 'GraphMend: stopping' or 'GraphMend: nothing is being profiled or verified')
end

---@param given vim.api.keyset.create_user_command.command_args
function M.profile(given)
  if given.bang then
    stop()
    return
  end
  local client = running()
  if client then
    execute(client, 'profile', place(client, given.args))
  end
end

---@param lead string
---@return string[] names the entries of this buffer that begin so
function M.entries(lead)
  local client = vim.lsp.get_clients({ bufnr = 0, name = NAME })[1]
  local params = { textDocument = vim.lsp.util.make_text_document_params(0) }
  local answer = client and client:request_sync('textDocument/codeLens', params, 2000, 0)
  local names = {} ---@type table<string, true>
  for _, lens in ipairs(answer and answer.result or {}) do
    local data = lens.data or lens.command.arguments[1]
    names[data.entry] = vim.startswith(data.entry, lead) or nil
  end
  return vim.fn.sort(vim.tbl_keys(names))
end

---@param given vim.api.keyset.create_user_command.command_args
function M.verify(given)
  if given.bang then
    stop()
    return
  end
  local client = running()
  if not client then
    return
  end
  actions_of_line(client, { 'quickfix' }, function(actions)
    local offered = vim.tbl_filter(function(action)
      return type(action.command) == 'table' and action.command.command == 'graphmend.verify'
    end, actions)
    local function where(action)
      local range = action.diagnostics[1].range
      local last = { range['end'].line, range['end'].character }
      return {
        line = range.start.line,
        column = byte_column(client, range.start.line, range.start.character),
        last_line = last[1],
        last_column = byte_column(client, last[1], last[2]),
      }
    end
    choose(offered, where, 'Verify the fix of', 'no fix is offered on this line', function(action)
      execute(client, 'verify', action.command.arguments[1])
    end)
  end)
end

---@param edit lsp.WorkspaceEdit
---@return boolean whether the edit makes a file
local function makes_file(edit)
  return vim.iter(edit.documentChanges or {}):any(function(change)
    return change.kind == 'create'
  end)
end

function M.fix_all()
  local client = running()
  if not client then
    return
  end
  local function apply(action)
    if action and action.edit then
      vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
      local more = makes_file(action.edit) and '; what they need is written with this file' or ''
      ui.tell('GraphMend: the safe fixes are applied' .. more)
    end
  end
  actions_of_line(client, { FIX_ALL }, function(actions)
    local action = actions[1]
    if not action then
      ui.tell('GraphMend: this file has nothing to fix safely.')
    elseif action.edit then
      apply(action)
    else
      request(client, 'codeAction/resolve', action, apply)
    end
  end)
end

---@param given vim.api.keyset.create_user_command.command_args
function M.report(given)
  local client = running()
  if not client then
    return
  end
  local where = place(client)
  if given.bang then
    execute(client, 'showReport', where)
    return
  end
  execute(client, 'showReport', vim.tbl_extend('error', where, { open = false }), function(report)
    if report and report ~= vim.NIL then
      ui.split('report/' .. report.entry, report.text)
    end
  end)
end

function M.insert_inputs()
  local client = running()
  if not client then
    return
  end
  execute(client, 'insertInputs', place(client), function(done)
    if done == true then
      ui.tell('GraphMend: example_inputs() is at the end of the file; see that the shapes fit.')
    end
  end)
end

function M.explain()
  local client = running()
  if not client then
    return
  end
  local on_line = vim.tbl_filter(function(diagnostic)
    local lsp = vim.tbl_get(diagnostic, 'user_data', 'lsp')
    return diagnostic.source == 'GraphMend' and lsp ~= nil and lsp.data ~= nil
  end, vim.diagnostic.get(0, { lnum = vim.api.nvim_win_get_cursor(0)[1] - 1 }))
  local function where(diagnostic)
    return {
      line = diagnostic.lnum,
      column = diagnostic.col,
      last_line = diagnostic.end_lnum,
      last_column = diagnostic.end_col,
    }
  end
  choose(on_line, where, 'Explain', 'there is no finding on this line', function(diagnostic)
    execute(client, 'explain', diagnostic.user_data.lsp.data) -- the server shows it
  end)
end

function M.debug()
  local client = running()
  if client then
    execute(client, 'printDebugInformation', nil, function(text)
      ui.split('debug', text .. '\nMessages of this session:\n' .. ui.said())
    end)
  end
end

---Stops all our servers and starts them for the buffers that are open, with the configuration as it is now.
function M.restart()
  local function clients()
    return vim.lsp.get_clients({ name = NAME })
  end
  for _, client in ipairs(clients()) do
    client:stop()
  end
  local function start(patience)
    if #clients() == 0 then
      vim.lsp.enable(NAME)
      local ready = #vim.lsp.get_clients({ name = NAME, _uninitialized = true }) > 0
      ui.tell(ready and 'GraphMend: the server is started again' or 'GraphMend: no open file is for the server')
      return
    end
    if patience == 0 then
      for _, client in ipairs(clients()) do
        client:stop(true)
      end
    end
    vim.defer_fn(function()
      start(patience - 1)
    end, 100)
  end
  start(50)
end

return M
