--- Drives a Neovim with a real screen: it runs in a terminal of this one, gets keys as from a keyboard, and is asked over a socket.

local M = {}

---@class Editor
---@field private pty integer
---@field private rpc integer
---@field private buffer integer
---@field private limit number seconds
---@field private began number
local Editor = {}
Editor.__index = Editor

local function say(text)
  io.stdout:write(text .. '\n')
  io.stdout:flush()
end

---@class Start
---@field init? string the text of init.lua; without one the user's own is read
---@field workspace string
---@field args? string[]
---@field limit? number seconds that a step may take
---@field columns? integer
---@field lines? integer

---@param options Start
---@return Editor
function M.start(options)
  local self = setmetatable({}, Editor)
  self.limit = options.limit or 60
  self.began = vim.uv.hrtime()
  local columns, lines = options.columns or 110, options.lines or 34
  -- the terminal takes the size of its window
  vim.o.laststatus, vim.o.cmdheight, vim.o.showtabline = 0, 1, 0
  vim.o.columns, vim.o.lines = columns, lines + 1
  vim.cmd('enew')
  self.buffer = vim.api.nvim_get_current_buf()
  local socket = vim.fn.tempname()
  local command = { vim.v.progpath, '-n', '-i', 'NONE', '--listen', socket }
  if options.init then
    local init = vim.fn.tempname() .. '.lua'
    vim.fn.writefile(vim.split(options.init, '\n'), init)
    vim.list_extend(command, { '-u', init })
  end
  self.pty = vim.fn.jobstart(vim.list_extend(command, options.args or {}), {
    term = true,
    cwd = options.workspace,
    env = { NVIM = '', TERM = 'xterm-256color' },
  })
  self.rpc = self:wait_here('Neovim to start', function()
    return vim.fn.sockconnect('pipe', socket, { rpc = true })
  end)
  self:settle()
  return self
end

function Editor:note(text)
  say(('%7.2f  %s'):format((vim.uv.hrtime() - self.began) / 1e9, text))
end

---@param what string
---@param test fun(): any
---@return any
function Editor:wait_here(what, test)
  local value
  local ok = vim.wait(self.limit * 1000, function()
    local good, result = pcall(test)
    value = good and result or nil
    return value ~= nil and value ~= false and value ~= vim.NIL
  end, 50)
  if not ok then
    error(('waited %g s for %s'):format(self.limit, what), 0)
  end
  return value
end

---A prompt that takes the next key, such as "Press ENTER".
---@return boolean
function Editor:is_blocked()
  return vim.rpcrequest(self.rpc, 'nvim_get_mode').blocking
end

---Waits until all keys are taken, and fails if a prompt is open.
function Editor:settle()
  local ok = vim.wait(3000, function()
    return not self:is_blocked()
  end, 50)
  if not ok then
    error('a prompt waits for a key', 0)
  end
end

---@param keys string in the notation of |key-notation|
function Editor:keys(keys)
  self:note('keys ' .. keys)
  vim.fn.chansend(self.pty, vim.keycode(keys))
  vim.wait(50)
end

---@param command string
function Editor:ex(command)
  self:keys(':' .. command .. '<CR>')
  self:settle()
end

---@param code string
---@return any value what the code returns, in the driven Neovim
function Editor:lua(code, ...)
  if self:is_blocked() then
    error('a prompt waits for a key', 0)
  end
  return vim.rpcrequest(self.rpc, 'nvim_exec_lua', code, { ... })
end

---@param what string
---@param code string an expression
---@return any value the first that is true
function Editor:wait(what, code, ...)
  local arguments = { ... }
  local value = self:wait_here(what, function()
    return self:lua('return ' .. code, unpack(arguments))
  end)
  self:note(what)
  return value
end

---@return string
function Editor:screen()
  local rows = vim.api.nvim_buf_get_lines(self.buffer, 0, -1, false)
  for i, row in ipairs(rows) do
    rows[i] = row:gsub('%s+$', '')
  end
  return table.concat(rows, '\n')
end

---@param text string
function Editor:sees(text)
  self:wait_here(('%q on the screen'):format(text), function()
    return self:screen():find(text, 1, true)
  end)
  self:note('seen: ' .. text)
end

---@param text string
function Editor:sees_no(text)
  self:wait_here(('no %q on the screen'):format(text), function()
    return not self:screen():find(text, 1, true)
  end)
  self:note('not seen: ' .. text)
end

---Keeps the screen as text, if a folder for that is given.
---@param name string
function Editor:shot(name)
  vim.wait(100)
  local folder = vim.env.GRAPHMEND_SHOTS
  if folder and folder ~= '' then
    vim.fn.mkdir(folder, 'p')
    vim.fn.writefile(vim.split(self:screen(), '\n'), ('%s/neovim-%s.txt'):format(folder, (name:gsub('%W+', '-'))))
  end
end

---Chooses from a numbered list, as `gra` and others show it.
---@param keys string what opens it
---@param title string
function Editor:choose(keys, title)
  self:keys(keys)
  local number = self:wait_here(('%q in a list'):format(title), function()
    return self:screen():match('(%d+): [^\n]*' .. vim.pesc(title))
  end)
  self:shot('choose ' .. title)
  self:keys(number .. '<CR>')
  self:settle()
end

---Waits for a number of findings of the server, and gives them.
---@param count integer
---@return vim.Diagnostic[]
function Editor:findings(count)
  return self:wait(
    count .. ' findings',
    [[(function(count)
      local found = vim.tbl_filter(function(each) return each.source == 'GraphMend' end, vim.diagnostic.get(0))
      return #found == count and vim.tbl_map(function(each)
        return { line = each.lnum + 1, column = each.col + 1, code = each.code, message = each.message }
      end, found)
    end)(...)]],
    count
  )
end

---@param what string
---@param test any
function Editor:check(what, test)
  if not test then
    error('not so: ' .. what, 0)
  end
  self:note(what)
end

---@return string text of the current buffer
function Editor:text()
  return self:lua('return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n") .. "\\n"')
end

---Puts the cursor on the first place where a text stands.
---@param text string
function Editor:at(text)
  local found = self:lua(
    [[
      local row, column = unpack(vim.fn.searchpos('\\V' .. vim.fn.escape(..., '\\'), 'cw'))
      return row > 0 and { row, column }
    ]],
    text
  )
  if not found then
    error(('%q is not in the buffer'):format(text), 0)
  end
  self:settle()
end

function Editor:close()
  if self:is_blocked() then
    self:keys('<C-c><CR>')
  end
  pcall(vim.rpcrequest, self.rpc, 'nvim_exec_lua', 'vim.schedule(function() vim.cmd("qall!") end)', {})
  if vim.fn.jobwait({ self.pty }, 10000)[1] < 0 then
    vim.fn.jobstop(self.pty)
    error('Neovim did not end within 10 s', 0)
  end
end

return M
