-- [Trap]: the safe form keeps the exception; the unsafe one says what changes.
return function(start, spec)
  local path = spec.workspace .. '/train.py'
  local before = table.concat(vim.fn.readfile(path, 'b'), '\n')
  local editor = start({ args = { 'train.py' } })
  editor:findings(2)
  editor:at('(x < 0)')
  editor:choose('gra', 'Assert on the device with torch._assert_async')
  editor:wait('the assertion', [[vim.fn.search('torch._assert_async(', 'nw') > 0]])
  editor:check('the finding is gone', editor:findings(1)[1].code == 'GM101')
  editor:shot('trap')
  editor:keys('u')
  editor:findings(2)

  editor:at('(x < 0)')
  editor:choose('gra', 'Run the check as an effect of the graph (same exception)')
  editor:wait('the helper', [[vim.fn.search('raise ValueError("negative")', 'nw') > 0 and vim.fn.search('@graph_effect', 'nw') > 0]])
  editor:findings(1)
  editor:keys('u')
  editor:findings(2)
  editor:ex('silent write')
  editor:check('undo restores the bytes', table.concat(vim.fn.readfile(path, 'b'), '\n') == before)
end
