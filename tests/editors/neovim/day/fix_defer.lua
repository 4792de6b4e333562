-- [Defer]: the fix makes a second file, `_graphmend.py`.
return function(start, spec)
  local path, runtime = spec.workspace .. '/net.py', spec.workspace .. '/_graphmend.py'
  local before = table.concat(vim.fn.readfile(path, 'b'), '\n')
  local editor = start({ args = { 'net.py' } })
  editor:findings(2)
  editor:at('print(f')
  editor:choose('gra', 'Run the print as an effect of the graph')
  editor:wait('the helper', [[vim.fn.search('def _report_norm(h):', 'nw') > 0]])
  local text = editor:text()
  editor:check('it is imported', text:find('from _graphmend import graph_effect', 1, true))
  editor:check('it is called', text:find('        _report_norm(h)\n', 1, true))
  editor:findings(1)
  editor:shot('defer')
  editor:ex('silent write')
  local made = table.concat(vim.fn.readfile(runtime), '\n')
  editor:check('the runtime is written with it', made:find('def graph_effect', 1, true))

  editor:keys('u')
  editor:findings(2)
  editor:ex('silent write')
  editor:check('undo restores the bytes', table.concat(vim.fn.readfile(path, 'b'), '\n') == before)
end
