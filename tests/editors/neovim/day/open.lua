-- A file is opened: the findings stand at their places, and the hover tells the whole story.
return function(start)
  local editor = start({ args = { 'net.py' } })
  local found = editor:findings(2)
  editor:check('the branch', vim.deep_equal({ found[1].line, found[1].column, found[1].code }, { 12, 12, 'GM101' }))
  editor:check('the print', vim.deep_equal({ found[2].line, found[2].column, found[2].code }, { 14, 9, 'GM201' }))
  editor:sees('`h.abs().max() > 10` is known only on the device')
  editor:sees('Profile on GPU')
  editor:shot('opened')

  editor:at('h.abs()')
  editor:keys('K')
  editor:sees('Compute both sides and select with torch.where')
  editor:shot('hover')
end
