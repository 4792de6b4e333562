-- The commands, and what is set up when the server starts.  All else is loaded when it is wanted.

if vim.g.loaded_graphmend then
  return
end
vim.g.loaded_graphmend = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify('GraphMend needs Neovim 0.11 or later.', vim.log.levels.WARN)
  return
end

---@param name string
---@param run string the function in graphmend.commands
---@param options vim.api.keyset.user_command
local function command(name, run, options)
  vim.api.nvim_create_user_command('GraphMend' .. name, function(given)
    require('graphmend.commands')[run](given)
  end, options)
end

command('Profile', 'profile', {
  bang = true,
  nargs = '?',
  desc = 'Profile the entry at the cursor, or the named one; with ! stop what runs',
  complete = function(lead)
    return require('graphmend.commands').entries(lead)
  end,
})
command('Verify', 'verify', { bang = true, desc = 'Run the code with and without the fix at the cursor; with ! stop it' })
command('FixAll', 'fix_all', { desc = 'Apply the safe fixes of this file' })
command('Report', 'report', { bang = true, desc = 'Show the last profile at the cursor; with ! as a page in the browser' })
command('InsertInputs', 'insert_inputs', { desc = 'Add example_inputs() for the entry at the cursor' })
command('Explain', 'explain', { desc = 'Say what can be done about the finding at the cursor, and why not more' })
command('Debug', 'debug', { desc = 'Show versions, settings and documents, for a bug report' })
command('Restart', 'restart', { desc = 'Stop the server and start it again' })

local group = vim.api.nvim_create_augroup('graphmend', {})

vim.api.nvim_create_autocmd('LspAttach', {
  group = group,
  desc = 'GraphMend: messages, code lenses, inlay hints',
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'graphmend' then
      require('graphmend').attach(client, event.buf)
    end
  end,
})

vim.api.nvim_create_autocmd('LspProgress', {
  group = group,
  desc = 'GraphMend: progress',
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'graphmend' then
      require('graphmend').progress(client, event.data.params)
    end
  end,
})

vim.api.nvim_create_autocmd('LspDetach', {
  group = group,
  desc = 'GraphMend: what was in progress is over',
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'graphmend' and package.loaded.graphmend then
      require('graphmend').detach(client)
    end
  end,
})
