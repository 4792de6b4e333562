-- A run is named with completion, begun by the lens, and stopped.
return function(start)
  local editor = start({ args = { 'slow.py' }, columns = 80, lines = 24 })
  editor:sees('Profile on GPU')
  local names = editor:wait('completion', [[(function()
    local found = vim.fn.getcompletion('GraphMendProfile s', 'cmdline')
    return #found > 0 and found
  end)()]])
  editor:check('the name', vim.deep_equal(names, { 'slow' }))
  editor:ex('GraphMendProfile!')
  editor:sees('nothing is being profiled or verified')

  for _, keys in ipairs({ ':GraphMendProfile slow<CR>', ':lua vim.lsp.codelens.run()<CR>' }) do
    editor:at('def slow')
    editor:keys(keys)
    editor:sees('GraphMend: profiling slow')
    editor:wait('the workers to start', [[vim.lsp.status():find('%d') ~= nil]])
    editor:shot('cancel')
    editor:ex('GraphMendProfile!')
    editor:sees_no('profiling slow')
    editor:wait('nothing pending', [[vim.tbl_isempty(vim.lsp.get_clients()[1].progress.pending)]])
  end
  editor:check('no result', #editor:lua('return vim.lsp.inlay_hint.get({ bufnr = 0 })') == 0)
end
