--- How things are shown: in the message line where that holds them, else in windows.  Nothing here waits for a key.

local M = {}

local api = vim.api

---The corner: one window for all that is in progress and all that was said, which takes no focus.
---@class graphmend.Block
---@field id string
---@field text string
---@field level integer

---@type graphmend.Block[]
local blocks = {}
---@type integer?
local corner_win
---@type integer?
local corner_buf
---@type string[]
local said = {}

local highlights = {
  [vim.log.levels.WARN] = 'DiagnosticWarn',
  [vim.log.levels.ERROR] = 'DiagnosticError',
}

---@param text string
---@param width integer
---@return string[] lines no wider than that, broken at blanks where it can be
local function wrapped(text, width)
  local lines = {} ---@type string[]
  for _, row in ipairs(vim.split(text, '\n', { plain = true })) do
    local line = ''
    for word in row:gmatch('%S+') do
      local longer = line == '' and word or line .. ' ' .. word
      if line ~= '' and vim.fn.strdisplaywidth(longer) > width then
        table.insert(lines, line)
        line = word
      else
        line = longer
      end
      while vim.fn.strdisplaywidth(line) > width do
        local head = vim.fn.strcharpart(line, 0, width)
        table.insert(lines, head)
        line = line:sub(#head + 1)
      end
    end
    table.insert(lines, line)
  end
  return lines
end

local function close_corner()
  if corner_win and api.nvim_win_is_valid(corner_win) then
    pcall(api.nvim_win_close, corner_win, true)
  end
  corner_win = nil
end

local function draw()
  if #blocks == 0 then
    close_corner()
    return
  end
  local most = math.max(math.min(vim.o.columns - 4, 76), 10)
  local lines, colours, width = {}, {}, 1 ---@type string[], table<integer, string>, integer
  for _, block in ipairs(blocks) do
    for _, line in ipairs(wrapped(block.text, most)) do
      table.insert(lines, line)
      colours[#lines] = highlights[block.level]
      width = math.max(width, vim.fn.strdisplaywidth(line))
    end
  end
  if not (corner_buf and api.nvim_buf_is_valid(corner_buf)) then
    corner_buf = api.nvim_create_buf(false, true)
  end
  api.nvim_buf_set_lines(corner_buf, 0, -1, false, lines)
  local namespace = api.nvim_create_namespace('graphmend')
  api.nvim_buf_clear_namespace(corner_buf, namespace, 0, -1)
  for number, colour in pairs(colours) do
    api.nvim_buf_set_extmark(corner_buf, namespace, number - 1, 0, { line_hl_group = colour })
  end
  local room = math.max(vim.o.lines - vim.o.cmdheight - 4, 1)
  local place = {
    relative = 'editor',
    anchor = 'SE',
    row = vim.o.lines - vim.o.cmdheight - (vim.o.laststatus > 0 and 1 or 0),
    col = vim.o.columns,
    width = width,
    height = math.min(#lines, room),
    border = 'rounded',
    style = 'minimal',
    focusable = false,
    zindex = 60,
  }
  if corner_win and api.nvim_win_is_valid(corner_win) then
    api.nvim_win_set_config(corner_win, place)
  else
    place.noautocmd = true
    local ok, win = pcall(api.nvim_open_win, corner_buf, false, place) -- not from the command-line window
    corner_win = ok and win or nil
  end
end

---Shows a text in the corner, in place of what has the same id.
---@param id string
---@param text string
---@param level? integer
function M.put(id, text, level)
  local block = vim.iter(blocks):find(function(each)
    return each.id == id
  end)
  if block then
    block.text = text
  else
    table.insert(blocks, { id = id, text = text, level = level or vim.log.levels.INFO })
  end
  draw()
end

---@param id string
function M.drop(id)
  blocks = vim.tbl_filter(function(each)
    return each.id ~= id
  end, blocks)
  draw()
end

---@param start string how the ids begin
function M.drop_all(start)
  blocks = vim.tbl_filter(function(each)
    return not vim.startswith(each.id, start)
  end, blocks)
  draw()
end

---@param kind lsp.MessageType
---@return integer of vim.log.levels
function M.level(kind)
  local levels = vim.log.levels
  return ({ levels.ERROR, levels.WARN, levels.INFO })[kind] or levels.DEBUG
end

---@return string all that was said, in lines
function M.said()
  return #said > 0 and table.concat(said, '\n') or 'none'
end

---Says something to the user.  What the message line cannot hold stands in the corner, until some seconds after the next
---move of the cursor: a run may end while nobody looks.
---@param text string
---@param level? integer
function M.tell(text, level)
  level = level or vim.log.levels.INFO
  table.insert(said, text)
  if not text:find('\n', 1, true) and vim.fn.strdisplaywidth(text) <= vim.v.echospace then
    vim.notify(text, level)
    return
  end
  local id = 'said ' .. #said
  M.put(id, text, level)
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI' }, {
    once = true,
    desc = 'GraphMend: a message has been seen',
    callback = function()
      vim.defer_fn(function()
        M.drop(id)
      end, 4000 + 40 * #text)
    end,
  })
end

---Shows a text at the cursor, until that moves.
---@param text string
function M.float(text)
  local _, win = vim.lsp.util.open_floating_preview(vim.split(text, '\n', { plain = true }), '', {
    border = 'rounded',
    focus_id = 'graphmend',
    wrap = true,
    max_width = math.max(math.min(vim.o.columns - 4, 100), 10),
  })
  vim.wo[win].linebreak = true
end

---Shows lines in a split of their own; `q` closes it.
---@param name string
---@param text string
function M.split(name, text)
  M.drop_all('said ') -- lest it hides the text
  local title = 'graphmend://' .. name
  local old = vim.fn.bufnr('^' .. vim.fn.escape(title, '[]{}*?,\\^$') .. '$')
  if old ~= -1 then
    pcall(api.nvim_buf_delete, old, { force = true })
  end
  vim.cmd('botright new')
  local buf = api.nvim_get_current_buf()
  api.nvim_buf_set_name(buf, title)
  local lines = vim.split(text, '\n', { plain = true })
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  local options = vim.bo[buf]
  options.buftype, options.bufhidden, options.swapfile = 'nofile', 'wipe', false
  options.modifiable, options.modified = false, false
  vim.wo.number, vim.wo.relativenumber, vim.wo.signcolumn, vim.wo.list = false, false, 'no', false
  vim.wo.wrap, vim.wo.linebreak = true, true
  api.nvim_win_set_height(0, math.max(math.min(#lines, math.floor(vim.o.lines / 2)), 3))
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, desc = 'Close' })
end

return M
