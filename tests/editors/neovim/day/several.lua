-- Two findings on one line: the one at the cursor is meant, else one is chosen.
return function(start, spec)
  local text = { 'import torch', '', '', '@torch.compile', 'def f(x: torch.Tensor):' }
  vim.list_extend(text, { '    print("größe", x.sum()); print("b", x.mean())', '    return x + 1' })
  vim.fn.writefile(text, spec.workspace .. '/two.py')
  local editor = start({ args = { 'two.py' } })
  editor:findings(2)
  editor:at('print("b"')
  editor:ex('GraphMendExplain')
  editor:sees('Run the print as an effect of the graph (safe)')
  editor:shot('one-of-two')
  editor:keys('0')
  editor:sees_no('Run the print as an effect of the graph (safe)')
  editor:choose(':GraphMendExplain<CR>', 'print("größe", x.sum())')
  editor:sees('Run the print as an effect of the graph (safe)')
  editor:keys('$')
  editor:sees_no('Run the print as an effect of the graph (safe)')

  editor:keys('0')
  editor:choose(':GraphMendVerify<CR>', 'print("b", x.mean())')
  editor:sees('GraphMend: verifying a fix')
  editor:ex('GraphMendVerify!')
  editor:sees_no('GraphMend: verifying a fix')
end
