-- Opens the file of $SERVER_FILE with the server of $SERVER_COMMAND, waits for its diagnostics, lets
-- the editor itself apply the code action whose title has $SERVER_ACTION, waits until the server has
-- checked the result, saves, and writes what it saw to $SERVER_RESULT.
local seen = { diagnostics = {}, titles = {} }

local function finish(problem)
  seen.problem = problem
  local file = io.open(vim.env.SERVER_RESULT, 'w')
  file:write(vim.fn.json_encode(seen))
  file:close()
  vim.cmd(problem and 'cquit' or 'quitall!')
end

local function wait(what, condition)
  if not vim.wait(20000, condition, 10) then
    finish('no ' .. what .. ' within 20 s')
  end
end

vim.ui.select = function(items, options, choose)
  local chosen = nil
  for _, item in ipairs(items) do
    local title = options.format_item(item)
    table.insert(seen.titles, title)
    if not chosen and title:find(vim.env.SERVER_ACTION, 1, true) then
      chosen = item
    end
  end
  if not chosen then
    finish('no such action')
  end
  choose(chosen)
end

vim.cmd('edit ' .. vim.env.SERVER_FILE)
local client = vim.lsp.start_client({
  name = 'torchport',
  cmd = { vim.env.SERVER_COMMAND, 'server' },
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, client)

wait('diagnostics', function()
  return #vim.diagnostic.get(0) > 0
end)
for _, found in ipairs(vim.diagnostic.get(0)) do
  table.insert(seen.diagnostics, { found.lnum, found.col, found.code, found.source })
end

vim.api.nvim_win_set_cursor(0, { seen.diagnostics[1][1] + 1, seen.diagnostics[1][2] })
vim.lsp.buf.code_action()
wait('change', function()
  return vim.bo.modified
end)
wait('end of the diagnostics', function()
  return #vim.diagnostic.get(0) == 0
end)
vim.cmd('write')
vim.lsp.stop_client(client)
wait('end of the server', function()
  return vim.lsp.client_is_stopped(client)
end)
finish(nil)
