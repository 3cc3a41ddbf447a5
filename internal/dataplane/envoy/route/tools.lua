-- Messages of MCP to tools of MCPTools, before Envoy's bridge makes other requests of them. The filter mcp has read each of
-- them.
--
-- Requests: what asks for nothing is answered here, without JSON-RPC (MCP, Streamable HTTP, "Sending Messages"). A
-- notification gets 202 and changes nothing: a call ends when its client closes the request. A ping gets its empty result
-- (MCP, "Ping", until 2025-11-25). Arguments of tools that are null are left out, but for those inside a JSON body: the
-- bridge writes "null".
--
-- Answers: a list of tools of the protocol of 2026-07-28 says how long it may be kept, and by whom.

local function answer(handle, status, text) handle:respond({[":status"] = status}, text) end

-- The value at i without members and elements that are null, and the place after it. path is how an argument is named
-- ("user.id"), "" of all; in_body tells whether one is of a JSON body, where null stays.
local function pruned(text, i, path, in_body)
  local c = text:byte(i)
  if c ~= OPEN and c ~= FIRST then
    local behind = past(text, i)
    return text:sub(i, behind - 1), behind
  end
  local kept = {}
  local behind = values(text, i, function(first, key, at)
    local inner = path
    if key then inner = (path == "" and "" or path .. ".") .. decoded(key) end
    local value, place = pruned(text, first, inner, in_body)
    if value ~= "null" or in_body(inner) then kept[#kept + 1] = (key and text:sub(at, first - 1) or "") .. value end
    return place
  end)
  return text:sub(i, i) .. table.concat(kept, ",") .. text:sub(behind - 1, behind - 1), behind
end

-- Tells of an argument whether it is inside the body. body is the one that becomes the body, "*": all that are left; named
-- are those that are elsewhere.
local function is_in(body, named)
  return function(argument)
    if not body or named[argument] then return false end
    return body == "*" or argument:sub(1, #body + 1) == body .. "."
  end
end

-- The message without null arguments.
local function without_null(text, in_body)
  local params = only(text, after(text, 1), "params")
  local arguments = params and text:byte(params) == OPEN and only(text, params, "arguments")
  if not arguments or text:byte(arguments) ~= OPEN then return text end
  local value, behind = pruned(text, arguments, "", in_body)
  return text:sub(1, arguments - 1) .. value .. text:sub(behind)
end

-- Answers a ping with the id as it is written.
local function pong(handle, text)
  local read, id = pcall(function()
    local at = only(text, after(text, 1), "id")
    return text:sub(at, past(text, at) - 1)
  end)
  if not read then return answer(handle, "400", "The message can't be read.") end
  handle:respond({[":status"] = "200", ["content-type"] = "application/json"},
    '{"jsonrpc":"2.0","id":' .. id .. ',"result":{}}')
end

function envoy_on_request(handle)
  local body = handle:body() -- an answer before its end would close the connection
  local metadata = handle:streamInfo():dynamicMetadata()
  local message = metadata:get("envoy.filters.http.mcp") or {}
  local method = message["method"] or ""
  if message["id"] == nil or method == "__jsonrpc_response" then
    if method:find("^notifications/") then return answer(handle, "202", "") end
    return answer(handle, "400", "The message is neither a request with an id nor a notification.")
  end
  local text = body:getBytes(0, body:length())
  if method == "ping" and (handle:headers():get("mcp-protocol-version") or "") < "2026" then return pong(handle, text) end
  if method ~= "tools/call" then return end
  if not text:find("null", 1, true) then return end
  local tool = ((metadata:get("cardea.dev/tool-bodies") or {})[(message["params"] or {})["name"]]) or {}
  local read, rest = pcall(without_null, text, is_in(tool["body"], tool["named"] or {}))
  if not read then return answer(handle, "400", "The message can't be read.") end
  body:setBytes(rest)
end

function envoy_on_response(handle)
  local message = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.mcp")
  if not message or message["method"] ~= "tools/list" then return end
  local body = handle:body(true)
  if body:length() == 0 then return end
  local text = body:getBytes(0, body:length())
  local read, rest = pcall(function()
    local result = only(text, after(text, 1), "result")
    if not result or not only(text, result, "resultType") or only(text, result, "ttlMs") then return text end
    return text:sub(1, result) .. '"ttlMs":0,"cacheScope":"private",' .. text:sub(result + 1)
  end)
  if read then body:setBytes(rest) end
end
