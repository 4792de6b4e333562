-- A set-up of the documentation, as the user's own: the findings are there, and what else is asked for.
return function(start, spec)
  local editor = start({ user = true, args = { 'net.py' } })
  editor:findings(2)
  editor:check('the commands', editor:lua([[return vim.fn.exists(':GraphMendProfile') == 2]]) == spec.commands)
  editor:at('h.abs()')
  editor:choose('gra', 'Compute both sides and select with torch.where')
  editor:sees('h = torch.where(h.abs().max() > 10, h.clamp(-10, 10), h)')
  if spec.lenses then
    editor:sees('Profile on GPU')
    editor:wait('the severity', [[vim.diagnostic.get(0)[1].severity == vim.diagnostic.severity.HINT]])
  end
end
