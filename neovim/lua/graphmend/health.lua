--- `:checkhealth graphmend`

local M = {}

function M.check()
  local health = vim.health
  health.start('graphmend')
  local config = vim.lsp.config.graphmend
  if not config then
    health.error('there is no lsp/graphmend.lua in the runtime path')
    return
  end
  local cmd = config.cmd
  if type(cmd) ~= 'table' then
    health.ok('the server is started by a function')
  elseif vim.fn.executable(cmd[1]) == 0 then
    health.error(('`%s` is not executable or not on the PATH'):format(cmd[1]), {
      "install graphmend-lsp, or name its command: vim.lsp.config('graphmend', { cmd = { '/path/to/graphmend', 'server', '--stdio' } })",
    })
  else
    local path = vim.fn.exepath(cmd[1])
    local ok, done = pcall(function()
      return vim.system({ path, '--version' }, { text = true, timeout = 20000 }):wait()
    end)
    if ok and done.code == 0 then
      health.ok(('%s: %s'):format(path, vim.trim(done.stdout)))
    else
      health.error(('%s --version fails: %s'):format(path, ok and vim.trim(done.stderr) or done))
    end
  end
  if vim.lsp.is_enabled and not vim.lsp.is_enabled('graphmend') then
    health.warn('it is not enabled', { "vim.lsp.enable('graphmend')" })
  end
  local clients = vim.lsp.get_clients({ name = 'graphmend' })
  if #clients == 0 then
    health.info('no server runs; one starts with the first Python file. Its errors are in ' .. vim.lsp.log.get_filename())
  end
  for _, client in ipairs(clients) do
    local buffers = vim.tbl_count(client.attached_buffers)
    health.ok(('a server runs for %s, %d buffer(s)'):format(client.root_dir or 'single files', buffers))
  end
end

return M
