-- A fix is verified, and a verification stopped.
return function(start, spec)
  local editor = start({ args = { 'net.py' } })
  editor:findings(2)
  editor:ex('GraphMendVerify')
  editor:sees('no fix is offered on this line')
  editor:at('if h.abs')
  editor:ex('GraphMendVerify')
  editor:sees('GraphMend: verifying a fix')
  editor:shot('verifying')
  editor:ex('GraphMendVerify!')
  editor:sees_no('verifying a fix')

  editor:ex('GraphMendVerify')
  editor.limit = 300
  editor:sees('same: mended it does what it did')
  editor.limit = spec.limit
  editor:shot('verified')
  editor:check('nothing was changed', not editor:lua('return vim.bo.modified'))
end
