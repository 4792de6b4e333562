-- A profile from the command to the report, with somebody who goes on typing meanwhile.
return function(start, spec)
  local editor = start({ args = { 'net.py' }, columns = 140, more = [[
    vim.ui.open = function(what) _G.opened = what; return vim.system({ 'true' }) end
  ]] })
  editor:findings(2)
  editor:at('return torch.relu')
  editor:ex('GraphMendProfile')
  editor:sees('GraphMend: profiling Net')
  editor:wait('a percentage', [[vim.lsp.status():find('%d+%%') ~= nil]])
  editor:shot('profiling')
  editor:at('def example_inputs')
  editor:keys('O# typed while it runs<CR>')

  editor.limit = 300
  editor:sees('3 graphs, 2 breaks -> mended: 1 graph')
  editor.limit = spec.limit
  editor:keys('# and when it was done')
  editor:sees('# and when it was done')
  editor:sees(':GraphMendReport shows more')
  editor:shot('profiled')
  editor:check('no key was taken', editor:text():find('# typed while it runs\n# and when it was done\n', 1, true))
  editor:keys('<Esc>')
  editor:wait('the hint', [[#vim.lsp.inlay_hint.get({ bufnr = 0 }) == 1]])
  editor:wait(
    'the breaks that were measured',
    [[#vim.tbl_filter(function(each) return each.source == 'torch.compile' end, vim.diagnostic.get(0)) == 2]]
  )

  editor:keys('gg')
  editor:sees('class Net(nn.Module): 3 graphs, 2 breaks -> mended: 1 graph')
  editor:sees('Profile on CPU') -- the title of the lens, now that it is known
  editor:sees_no('profiling')
  editor:shot('hint')

  editor:at('class Net')
  editor:at('Net')
  editor:keys('K')
  editor:sees('to steady')
  editor:shot('hover-profile')
  editor:keys('j')

  editor:at('h.clamp')
  editor:ex('GraphMendReport')
  editor:sees('net.py::Net: 3 graphs, 2 breaks -> mended: 1 graph')
  editor:sees('found by GM101')
  editor:shot('report')
  editor:keys('q')
  editor:wait('one window', [[#vim.api.nvim_list_wins() == 1 or nil]])
  editor:ex('GraphMendReport!')
  editor:check('the page', editor:wait('the page to open', '_G.opened'):find('^file:///.*%.html$'))

  editor:at('-10')
  editor:keys('cw-9<Esc>')
  editor:sees('(stale)')
  editor:shot('stale')
  editor:keys('u')
  editor:sees_no('(stale)')
end
