-- Messages of MCP, to and from a server that has access policies.
--
-- Requests: messages that a server may read in another way than Envoy's parser get 400.
--
-- Answers: takes the tools out of an answer to tools/list that the caller may not call. Filters have said in metadata which
-- tools the rules of each level name, and which of the rules are for the caller (package access). What can't be read for
-- certain becomes an error: a list that is not filtered never gets through.

-- A name as servers read it that do not mind the case. Of other letters than those of ASCII, four are the same as one of
-- those: the long s, the sign of Kelvin, and the i with another dot.
local function folded(name)
  name = decoded(name)
  if name:find("[\196\197\226]") then
    name = name:gsub("\197\191", "s"):gsub("\226\132\170", "k"):gsub("\196[\176\177]", "i")
  end
  return name:lower()
end

-- The place after the string, number, true, false or null that begins at i, as JSON has them. plain: a string has no NUL.
local function scalar(text, i, plain)
  local j = past(text, i)
  local value = text:sub(i, j - 1)
  if text:byte(i) ~= QUOTE then
    if value ~= "true" and value ~= "false" and value ~= "null" and not value:find("^%-?%d[%d%.eE%+%-]*$") then
      refuse("a value is not JSON: " .. value:sub(1, 40))
    end
    return j
  end
  if value:find("[%z\1-\31]") then refuse("a string has a control character") end
  if value:find("\\", 1, true) then
    if plain and value:find("\\u0000", 1, true) then refuse("a name has a NUL") end
    if value:gsub("\\\\", ""):gsub('\\["/bfnrt]', ""):gsub("\\u%x%x%x%x", ""):find("\\", 1, true) then
      refuse("a string has an escape that JSON does not have")
    end
  end
  return j
end

-- The place after the value that begins at i. No object in it has a name twice; fold: nor two names that servers take for
-- one if they do not mind the case.
local function distinct(text, i, fold)
  local c = text:byte(i)
  if c ~= OPEN and c ~= FIRST then return scalar(text, i) end
  local names = {}
  return values(text, i, function(first, key, at)
    if key then
      scalar(text, at, true)
      local name = fold and folded(key) or decoded(key)
      if names[name] then refuse("two names are the same or differ only in case: " .. key:sub(1, 40)) end
      names[name] = true
    end
    return distinct(text, first, fold)
  end)
end

-- What stands in a message, and in its params, by names that have to be written as they are. Servers may mind the case of
-- the names of arguments or not.
local ENVELOPE = {jsonrpc = true, id = true, method = true, params = true, result = true, error = true}
local PARAMS = {name = true, arguments = true, uri = true}

local function params(text, i)
  if text:byte(i) ~= OPEN then return distinct(text, i) end
  local names = {}
  return values(text, i, function(first, key, at)
    scalar(text, at, true)
    local name = folded(key)
    if names[name] then refuse("two names are the same or differ only in case: " .. key:sub(1, 40)) end
    if PARAMS[name] and key ~= name then refuse("params." .. name .. " is written in another way: " .. key:sub(1, 40)) end
    names[name] = true
    if PARAMS[name] and text:byte(first) == QUOTE then return scalar(text, first, true) end
    return distinct(text, first, name == "arguments")
  end)
end

-- Refuses a message that some servers read in another way than others.
local function certain(text)
  local start = after(text, 1)
  if text:byte(start) ~= OPEN then refuse("the message is not an object") end
  local has = {}
  local behind = values(text, start, function(first, name)
    if not ENVELOPE[name] then refuse("JSON-RPC has no field " .. name:sub(1, 40)) end
    if has[name] then refuse("the field " .. name .. " is there twice") end
    has[name] = true
    if name == "params" then return params(text, first) end
    if text:byte(first) == QUOTE then return scalar(text, first, true) end
    return distinct(text, first)
  end)
  if after(text, behind) <= #text then refuse("something follows the message") end
  if (has.result or has.error) and (has.method or has.params) then refuse("the message is both a request and a response") end
end

-- Refuses bodies that servers may decode to other texts.
local function utf8_json(kind)
  kind = (kind or ""):lower()
  for _, pattern in ipairs({"", ';%s*charset%s*=%s*utf%-?8%s*', ';%s*charset%s*=%s*"utf%-?8"%s*'}) do
    if kind:find("^application/json%s*" .. pattern .. "$") then return end
  end
  refuse("the content type is not application/json in UTF-8")
end

-- The message whose result begins at i, for nobody but the caller. Without cacheScope some clients take what has a ttlMs for
-- public.
local function private(text, i)
  local scope = only(text, i, "cacheScope")
  if scope then return text:sub(1, scope - 1) .. '"private"' .. text:sub(past(text, scope)) end
  if not only(text, i, "ttlMs") then return text end
  return text:sub(1, i) .. '"cacheScope":"private",' .. text:sub(i + 1)
end

-- The message without the tools that are not allowed.
local function pruned(text, allowed)
  local start = after(text, 1)
  if text:byte(start) ~= OPEN then error("the message is no object") end
  if after(text, past(text, start)) <= #text then error("something stands behind the message") end
  local result = only(text, start, "result")
  if not result or text:byte(result) ~= OPEN then return text end
  local tools = only(text, result, "tools")
  if not tools then return text end
  if text:byte(tools) ~= FIRST then error("the tools are no list") end
  local kept = {}
  local behind = values(text, tools, function(first)
    local behind = past(text, first)
    if text:byte(first) ~= OPEN then error("a tool is no object") end
    local name = only(text, first, "name")
    local written = name and text:byte(name) == QUOTE and text:sub(name + 1, past_string(text, name) - 2)
    if written and not written:find("\\", 1, true) and allowed(written) then
      kept[#kept + 1] = text:sub(first, behind - 1)
    end
    return behind
  end)
  local list = text:sub(1, tools) .. table.concat(kept, ",") .. text:sub(behind - 1)
  return private(list, only(list, start, "result"))
end

-- What a line of a stream of events can begin with, but for data.
local FIELDS = {event = true, id = true, retry = true, [""] = true}

-- The stream of events with each of its messages pruned. Lines that mean nothing are left out.
local function events(text, allowed)
  text = text:gsub("^\239\187\191", ""):gsub("\r\n", "\n"):gsub("\r", "\n")
  local out, data, some = {}, nil, false
  local function finish()
    if data then
      local message = table.concat(data, "\n")
      if message:find("%S") then message = pruned(message, allowed) end
      out[#out + 1] = "data: " .. message:gsub("\n", "\ndata: ")
      data = nil
    end
  end
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local of = line == "data" and "" or line:match("^data: ?(.*)$")
    if of then
      data, some = data or {}, true
      data[#data + 1] = of
    else
      if line == "" then finish() end
      if FIELDS[line:match("^[^:]*")] then out[#out + 1] = line end
    end
  end
  finish()
  if not some then error("the events have no data") end
  return table.concat(out, "\n")
end

local function unescaped(field)
  return (field:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

-- The rules of one level that are for the caller. Each is a line of an action, callers, and texts to compare names with.
-- A line before them has the keys that say the class of the caller, and that its certificate is valid.
local function rules_of(level, said)
  local rules, class = {}, nil
  for line in level:gmatch("[^\n]+") do
    local action, callers, rest = line:match("^(%S+) (%S+) ?(.*)$")
    if action == "Class" then
      class = said[rest] == "allowed" and said[callers] or nil
    else
      local mine = callers == "*"
      for one in callers:gmatch("[^,]+") do
        local key, value = one:match("^(.-)=(.*)$")
        if key and said[key] == value or not key and class == one then mine = true end
      end
      if mine then
        local names = {}
        for field in rest:gmatch("%S+") do names[#names + 1] = unescaped(field) end
        rules[#rules + 1] = {action = action, names = names}
      end
    end
  end
  return rules
end

-- Whether a name is as a pattern says, in which * is any text. The parts between them are found from left to right, so the
-- time is bounded whatever the name.
local function like(name, pattern)
  local first, rest = pattern:match("^([^*]*)%*(.*)$")
  if name:sub(1, #first) ~= first then return false end
  local at = #first + 1
  while true do
    local part, behind = rest:match("^([^*]*)%*(.*)$")
    if not part then return #name - #rest + 1 >= at and name:sub(#name - #rest + 1) == rest end
    local found, last = name:find(part, at, true)
    if not found then return false end
    at, rest = last + 1, behind
  end
end

local function matches(names, tool)
  if #names == 0 then return true end
  for _, field in ipairs(names) do
    local how, text = field:sub(1, 1), field:sub(2)
    if how == "=" and tool == text or how == "^" and tool:sub(1, #text) == text or how == "~" and like(tool, text) then
      return true
    end
  end
  return false
end

-- A function that tells whether every level allows a tool.
local function judge(handle)
  local metadata = handle:streamInfo():dynamicMetadata()
  local levels, said = metadata:get("cardea.dev/tools"), metadata:get("envoy.filters.http.rbac") or {}
  local all = {}
  for _, level in pairs(levels) do all[#all + 1] = rules_of(level, said) end
  return function(name)
    for _, rules in ipairs(all) do
      local allowed = false
      for _, rule in ipairs(rules) do
        if matches(rule.names, name) then
          if rule.action == "Deny" then return false end
          allowed = true
        end
      end
      if not allowed then return false end
    end
    return true
  end
end

local function method(handle)
  local parsed = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.mcp")
  return parsed and parsed["method"]
end

-- An error of JSON-RPC for the request, which clients can read without ending their session.
local function failure(handle, code, message)
  local parsed = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.mcp") or {}
  local id = parsed["id"]
  local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
  end
  if type(id) == "number" then
    id = string.format("%.17g", id)
  elseif type(id) == "string" then
    id = quoted(id)
  else
    id = "null"
  end
  return string.format('{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}', id, code, quoted(message))
end

function envoy_on_request(handle)
  if not handle:streamInfo():dynamicMetadata():get("cardea.dev/mcp") then return end -- it goes elsewhere
  local body = handle:body() -- after which other objects have to be got again
  local read, why = pcall(function()
    local headers = handle:headers()
    if headers:get(":method") == "POST" then
      utf8_json(headers:get("content-type"))
      certain(body and body:getBytes(0, body:length()) or "")
      if method(handle) == "tools/list" then
        headers:remove("accept-encoding") -- an answer that is compressed can't be read
      end
    elseif headers:get(":method") == "GET" or headers:get(":method") == "DELETE" then
      if body and body:length() > 0 then refuse("only POST has a body") end
      headers:remove("last-event-id") -- answers of other streams would come again
    else
      refuse("only POST, GET and DELETE are of MCP")
    end
  end)
  if not read then
    why = "The message is refused, since servers may read it in different ways: " .. tostring(why)
    local parsed = handle:streamInfo():dynamicMetadata():get("envoy.filters.http.mcp") or {}
    if parsed["method"] and parsed["id"] == nil then return handle:respond({[":status"] = "400"}, why) end -- a notification
    handle:respond({[":status"] = "400", ["content-type"] = "application/json"}, failure(handle, -32600, why))
  end
end

function envoy_on_response(handle)
  local known, list = pcall(function()
    return method(handle) == "tools/list" and handle:streamInfo():dynamicMetadata():get("cardea.dev/tools") ~= nil
  end)
  if known and not list then return end
  local body = handle:body(true)
  if body:length() == 0 then return end
  local headers = handle:headers()
  local done, text = pcall(function()
    local coding = headers:get("content-encoding")
    if coding and coding:lower() ~= "identity" then error("the answer is compressed") end
    local kind = (headers:get("content-type") or ""):lower()
    local whole = body:getBytes(0, body:length())
    local status = tonumber(headers:get(":status"))
    if kind:find("text/event-stream", 1, true) then return events(whole, judge(handle)) end
    if status >= 300 and not kind:find("json", 1, true) then return whole end
    return pruned(whole, judge(handle))
  end)
  if not done then
    text = failure(handle, -32603, "The list of tools can't be read, so it can't be shown.")
    headers:replace(":status", "200")
    headers:replace("content-type", "application/json")
    headers:remove("content-encoding")
  end
  body:setBytes(text)
end
