-- A restart takes the configuration as it is then.
return function(start)
  local editor = start({ args = { 'net.py' } })
  editor:findings(2)
  local first = editor:lua('return vim.lsp.get_clients()[1].id')
  editor:ex([[lua vim.lsp.config('graphmend', { settings = { graphmend = { ignore = { 'GM201' } } } })]])
  editor:ex('GraphMendRestart')
  editor:wait('another client', [[(function(first)
    local clients = vim.lsp.get_clients({ bufnr = 0 })
    return #clients == 1 and clients[1].id ~= first and clients[1].initialized
  end)(...)]], first)
  editor:check('the new settings hold', editor:findings(1)[1].code == 'GM101')
  editor:sees('the server is started again')
  editor:sees('Profile on GPU')
  editor:shot('restarted')
end
