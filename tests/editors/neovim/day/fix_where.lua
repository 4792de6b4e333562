-- [Where] by the menu of code actions; undo and redo; the file on disk is written by the user alone.
return function(start, spec)
  local path = spec.workspace .. '/net.py'
  local before = table.concat(vim.fn.readfile(path, 'b'), '\n')
  local editor = start({ args = { 'net.py' } })
  editor:findings(2)
  editor:at('h.abs()')
  editor:choose('gra', 'Compute both sides and select with torch.where')
  editor:sees('h = torch.where(h.abs().max() > 10, h.clamp(-10, 10), h)')
  editor:check('the branch is gone', not editor:text():find('if h.abs', 1, true))
  editor:check('its finding, too', editor:findings(1)[1].code == 'GM201')
  editor:shot('where')
  editor:check('nothing is written yet', table.concat(vim.fn.readfile(path, 'b'), '\n') == before)

  editor:keys('u')
  editor:findings(2)
  editor:ex('silent write')
  editor:check('undo restores the bytes', table.concat(vim.fn.readfile(path, 'b'), '\n') == before)
end
