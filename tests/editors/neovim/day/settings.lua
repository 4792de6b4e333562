-- Settings by vim.lsp.config, and a change of them that the server is told.
return function(start)
  local editor = start({ args = { 'net.py' }, more = [[
    vim.lsp.config('graphmend', { settings = { graphmend = { ignore = { 'GM201' }, severity = { GM101 = 'error' } } } })
  ]] })
  editor:check('one finding', editor:findings(1)[1].code == 'GM101')
  editor:wait('its severity', [[vim.diagnostic.get(0)[1].severity == vim.diagnostic.severity.ERROR]])
  editor:lua([[
    local client = vim.lsp.get_clients()[1]
    client.settings = { graphmend = {} }
    client:notify('workspace/didChangeConfiguration', { settings = client.settings })
  ]])
  editor:findings(2)

  editor:ex('GraphMendDebug')
  editor:sees('graphmend-lsp 0.')
  editor:wait('the version', [[vim.api.nvim_buf_get_name(0) == 'graphmend://debug']])
  editor:check('the documents', editor:text():find('net%.py version'))
  editor:check('no problem', not editor:text():find('problem:', 1, true))
  editor:shot('debug')
  editor:keys('q')
end
