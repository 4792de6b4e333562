--- What happens without a command: how the server's messages and progress are shown, code lenses, inlay hints.

local ui = require('graphmend.ui')

local M = {}

---@class graphmend.Options
---@field codelens? boolean show the code lenses and keep them up to date; default false
---@field inlay_hints? boolean show the results of profiles at the end of the line; default false
---@field progress? boolean show progress in the corner; default true

---@return graphmend.Options
function M.options()
  return vim.tbl_extend('force', { codelens = false, inlay_hints = false, progress = true }, vim.g.graphmend or {})
end

---What takes the place of a button; by the title that the server gives it.
---@type table<string, string>
local instead = {
  ['Show report'] = ':GraphMendReport shows more, :GraphMendReport! as a page.',
  ['Insert an example_inputs() stub'] = ':GraphMendInsertInputs does it.',
}

---Neovim's own handler asks in a prompt, which takes the keys of somebody who went on typing while the code was run.
---@param params lsp.ShowMessageRequestParams
local function ask(_, params)
  local text = params.message
  for _, action in ipairs(params.actions or {}) do
    if instead[action.title] then
      text = text .. '\n' .. instead[action.title]
    end
  end
  ui.tell(text, ui.level(params.type))
  return vim.NIL
end

---@param params lsp.ShowMessageParams
local function show(_, params)
  if params.message:find('\n', 1, true) then -- the answer to "Why no fix?"
    ui.float(params.message)
  else
    ui.tell(params.message, ui.level(params.type))
  end
  return vim.NIL
end

---@param bufnr integer
local function lenses(bufnr)
  ---@diagnostic disable-next-line: undefined-field
  if vim.lsp.codelens.enable then -- Neovim 0.12 keeps them up to date
    ---@diagnostic disable-next-line: undefined-field
    vim.lsp.codelens.enable(true, { bufnr = bufnr })
    return
  end
  local function refresh()
    vim.lsp.codelens.refresh({ bufnr = bufnr })
  end
  vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'TextChanged' }, {
    group = vim.api.nvim_create_augroup('graphmend.lenses.' .. bufnr, {}),
    buffer = bufnr,
    desc = 'GraphMend: code lenses',
    callback = refresh,
  })
  refresh()
end

---A fix may make the file `_graphmend.py`: Neovim leaves its text in a buffer that nobody sees.  Without it on disk the
---mended file cannot be imported, so it is written with that.
---@param bufnr integer
local function write_runtime(bufnr)
  vim.api.nvim_create_autocmd('BufWritePost', {
    group = vim.api.nvim_create_augroup('graphmend.runtime.' .. bufnr, {}),
    buffer = bufnr,
    desc = 'GraphMend: write the file that fixes need',
    callback = function()
      for _, other in ipairs(vim.api.nvim_list_bufs()) do
        local path = vim.api.nvim_buf_get_name(other)
        local ours = vim.fs.basename(path):match('^_graphmend%w*%.py$') and vim.bo[other].modified
        if ours and vim.fn.getfsize(path) <= 0 then
          vim.api.nvim_buf_call(other, function()
            vim.cmd('silent noautocmd write')
          end)
        end
      end
    end,
  })
end

---@param client vim.lsp.Client
---@param bufnr integer
function M.attach(client, bufnr)
  -- what the user has set for this server stays
  client.handlers['window/showMessageRequest'] = client.handlers['window/showMessageRequest'] or ask
  client.handlers['window/showMessage'] = client.handlers['window/showMessage'] or show
  write_runtime(bufnr)
  local options = M.options()
  if options.codelens then
    lenses(bufnr)
  end
  if options.inlay_hints then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
end

---@param title string
---@return boolean whether progress with this title is of a run of the user's code
function M.can_stop(title)
  return title:find('profiling', 1, true) ~= nil or title:find('verifying', 1, true) ~= nil
end

---@param client vim.lsp.Client
---@param params lsp.ProgressParams
function M.progress(client, params)
  local value = params.value
  if type(value) ~= 'table' or not M.options().progress then
    return
  end
  local id = ('%d %s'):format(client.id, params.token)
  if value.kind == 'end' then
    ui.drop(id)
    return
  end
  local parts = { value.title }
  if value.percentage then
    table.insert(parts, value.percentage .. '%')
  end
  if value.message and value.message ~= '' then
    table.insert(parts, value.message)
  end
  local text = table.concat(parts, ', ')
  if M.can_stop(value.title) then
    text = text .. '\n:GraphMendProfile! stops it'
  end
  ui.put(id, text)
end

---@param client vim.lsp.Client
function M.detach(client)
  ui.drop_all(client.id .. ' ')
end

---The server has ended by itself; Neovim says with which code, and where the log is.
function M.died()
  ui.tell('GraphMend: the server has ended unexpectedly.\n:GraphMendRestart starts it again.', vim.log.levels.ERROR)
end

return M
