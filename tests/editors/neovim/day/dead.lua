-- A server that dies says so; without one nothing hangs, every command says what is the matter; and it comes back.
local commands = { 'Profile', 'Verify', 'FixAll', 'Report', 'Report!', 'InsertInputs', 'Explain', 'Debug' }

return function(start)
  local editor = start({ args = { 'net.py' }, columns = 80, lines = 24 })
  editor:findings(2)
  editor:ex('GraphMendProfile Net')
  editor:sees('GraphMend: profiling Net')
  local killed = editor:lua([[
    local found = {}
    for _, pid in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
      vim.uv.kill(pid, 'sigkill')
      table.insert(found, pid)
    end
    return found
  ]])
  editor:check('one server', #killed == 1)
  editor:sees('Client graphmend quit')
  if editor:is_blocked() then
    editor:keys('<CR>') -- Neovim's own message names the log: it is longer than the line
  end
  editor:sees('the server has ended unexpectedly')
  editor:shot('died')
  editor:sees_no('profiling Net')
  editor:check('no findings are left', editor:lua('return #vim.diagnostic.get(0)') == 0)
  for _, name in ipairs(commands) do
    editor:ex('GraphMend' .. name)
    editor:sees('no server runs for this buffer')
    editor:keys(':redraw<CR>')
    editor:sees_no('no server runs for this buffer')
  end
  editor:ex('GraphMendProfile!')
  editor:sees('nothing is being profiled or verified')
  editor:ex('checkhealth graphmend')
  editor:sees('no server runs; one starts with the first Python file')
  editor:shot('health')
  editor:ex('close')

  editor:ex('GraphMendRestart')
  editor:findings(2)
  editor:sees('Profile on GPU')
  editor:ex('checkhealth graphmend')
  editor:sees('a server runs for')
end
