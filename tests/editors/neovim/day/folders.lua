-- Two projects at once: each has its own settings, commands go to the server of the buffer.
return function(start, spec)
  for name, codes in pairs({ one = 'GM201', two = 'GM101' }) do
    local folder = ('%s/%s'):format(spec.workspace, name)
    vim.fn.mkdir(folder)
    vim.fn.writefile({ '[tool.graphmend]', ('ignore = ["%s"]'):format(codes) }, folder .. '/pyproject.toml')
    vim.uv.fs_copyfile(spec.workspace .. '/net.py', folder .. '/net.py')
  end
  local editor = start({ args = { 'one/net.py' } })
  editor:check('the first', editor:findings(1)[1].code == 'GM101')
  editor:ex('edit two/net.py')
  editor:check('the second', editor:findings(1)[1].code == 'GM201')
  editor:check('each has a server', editor:lua('return #vim.lsp.get_clients()') == 2)
  editor:at('print(')
  editor:ex('GraphMendExplain')
  editor:sees('Run the print as an effect of the graph (safe)')
  editor:ex('buffer one/net.py')
  editor:ex('GraphMendFixAll')
  editor:findings(0)
  editor:sees('h = torch.where(')
end
