-- What requests to models took. Reads the usage of tokens and the model out of answers of model servers (OpenAI's and
-- Anthropic's APIs, as JSON and as events), and says so in metadata, with who called (package modelusage). Each piece of
-- an answer goes on at once, as it is. What models say and what clients get back of their requests does not count: it
-- stands deeper in the answer than the usage, or is a string.

local USAGE, OPTIONS = "cardea.dev/usage", "cardea.dev/usage-options"
local LONGEST = 128 -- bytes of names
local MOST = 1e9 -- tokens

-- Characters of UTF-8 that have more than one byte, but for control characters.
local CHARACTERS = {
  "^\194[\160-\191]$", "^[\195-\223][\128-\191]$",
  "^\224[\160-\191][\128-\191]$", "^[\225-\236\238\239][\128-\191][\128-\191]$", "^\237[\128-\159][\128-\191]$",
  "^\240[\144-\191][\128-\191][\128-\191]$", "^[\241-\243][\128-\191][\128-\191][\128-\191]$",
  "^\244[\128-\143][\128-\191][\128-\191]$",
}

local function character(bytes)
  for _, pattern in ipairs(CHARACTERS) do
    if bytes:find(pattern) then return bytes end
  end
  return "_"
end

-- A name as metrics can have it: Prometheus refuses a whole page for a byte that is no UTF-8. Cut is after a character.
local function label(name)
  local text = name:gsub("%c", "_"):gsub("[\128-\255][\128-\191]*", character)
  local cut = text:sub(1, LONGEST)
  if text:find("^[\128-\191]", LONGEST + 1) then return (cut:gsub("[\192-\255][\128-\191]*$", "")) end
  return cut
end

-- The claim that some names lead to, in the token of the first provider of which one was accepted.
local function claim(m, path)
  local tokens, providers, i = m:get("envoy.filters.http.jwt_authn") or {}, m:get("cardea.dev/providers") or {}, 0
  while providers[tostring(i)] do
    local value = tokens[providers[tostring(i)]]
    for _, name in ipairs(path) do
      value = type(value) == "table" and value[name] or nil
    end
    if type(value) == "string" then return value end
    if type(value) == "number" then return value % 1 == 0 and ("%.0f"):format(value) or tostring(value) end
    i = i + 1
  end
end

local function certificate(h)
  local tls = h:connection():ssl()
  return tls and tls:peerCertificateValidated() and tls:uriSanPeerCertificate()[1] or nil
end

local function caller(h, m)
  local options = m:get(OPTIONS) or {}
  if options.claim then return claim(m, options.claim) end
  return (m:get("cardea.dev/user") or {}).name or claim(m, {"sub"}) or certificate(h)
end

-- The numbers of a usage: OpenAI's chat/completions, completions and embeddings; its responses; Anthropic's messages.
local NUMBERS = {
  prompt_tokens = true, completion_tokens = true, cached_tokens = true, input_tokens = true, output_tokens = true,
  cache_read_input_tokens = true, cache_creation_input_tokens = true,
}
-- What the events say at the end of whole answers; OpenAI's chat/completions and completions say [DONE].
local LAST = { message_stop = true, ["response.completed"] = true, ["response.incomplete"] = true }
local DONE = "data:[ \t]*%[DONE%]%s*$"
local COMMENT = "\n:[^\n]*"
local TAIL = 128 -- bytes of an answer's end: [DONE], and comments behind it
local DEEPEST = 4 -- response, usage, details, cached_tokens
local SPACE, COLON, QUOTE, BACKSLASH, NEWLINE = "^[ \t\r\n]*()", 58, 34, 92, 10

-- Reads an answer that comes in pieces: the last of each number of its usages (Anthropic's events tell some at the
-- beginning and others at the end), the first model, and whether the answer is whole: it is only
-- after the provider's last word, and not if an event tells an error. Each byte is read once. A line of events is a text of its own.
local function reader(events)
  local numbers, model = {}, nil
  local last, failed, tail = false, false, "" -- the last word was said; an error was; the end of what was read
  local depth, keys = 0, {} -- how many objects and lists are open, and the last key in each of the outer ones
  local quoted, escaped, ended = false, false, false -- in a string, after a backslash in it, after a string
  local word -- the string; false: it is long, or has a backslash
  local name, digits -- a number that is read
  local inside, outside = '["\\]', '["{}%[%]]'
  if events then inside, outside = '["\\\n]', '["{}%[%]\n]' end

  -- The API's own object begins at depth 1, or in an event that has it in a member.
  local function outer()
    return depth > 1 and (keys[1] == "response" or keys[1] == "message") and 1 or 0
  end

  -- A string was a key.
  local function key()
    if depth > DEEPEST then return end
    keys[depth] = word
    local first = outer()
    local within = depth - first
    if not (word and NUMBERS[word] and keys[first + 1] == "usage") then return end
    if within == 2 or within == 3 and word == "cached_tokens" then name, digits = word, "" end
  end

  -- A string was a value.
  local function value()
    local first = outer()
    if depth == 1 and keys[1] == "type" and LAST[word] then last = true end
    if depth - first == 1 and keys[depth] == "error" then failed = true end
    if model or not word or depth - first ~= 1 or keys[depth] ~= "model" then return end
    if word:find("^[%w%._:/@+-]+$") then model = word end
  end

  local function open()
    if depth > 0 and depth - outer() == 1 and keys[depth] == "error" then failed = true end
    depth, last = depth + 1, last and events
    if depth <= DEEPEST then keys[depth] = nil end
  end

  -- A string goes on at a byte of a text; returns the byte after what was read.
  local function inString(text, at)
    if escaped then
      escaped = false
      return at + 1
    end
    local stop = text:find(inside, at)
    local after = stop or #text + 1
    if word then word = #word + after - at <= LONGEST * 2 and word .. text:sub(at, after - 1) end
    if not stop then return after end
    local byte = text:byte(stop)
    if byte == BACKSLASH then
      escaped, word = true, false
    elseif byte == QUOTE then
      quoted, ended = false, true
    else
      quoted, depth = false, 0
    end
    return stop + 1
  end

  -- After a string, and in the number that follows.
  local function afterString(text, at)
    at = text:match(SPACE, at)
    if at > #text then return at end
    if ended then
      ended = false
      if text:byte(at) ~= COLON then
        value()
        return at
      end
      key()
      return at + 1
    end
    local more = text:match("^%d*", at)
    digits = (digits .. more):sub(1, 20) -- which is more than MOST
    if at + #more > #text then return at + #more end
    if digits ~= "" then numbers[name] = math.min(tonumber(digits), MOST) end
    name = nil
    return at + #more
  end

  -- Between strings: at depth 0 there may be anything.
  local function between(text, at)
    at = text:find(depth == 0 and "{" or outside, at)
    if not at then return #text + 1 end
    local byte = text:byte(at)
    if byte == QUOTE then
      quoted, word = true, ""
    elseif byte == NEWLINE then
      depth = 0
    elseif byte == 123 or byte == 91 then -- { and [
      open()
    else
      depth = depth - 1
      last = last or not events and depth == 0
    end
    return at + 1
  end

  local function feed(text)
    local at = 1
    while at <= #text do
      at = (quoted and inString or (ended or name) and afterString or between)(text, at)
    end
    tail = (tail .. text:sub(-TAIL)):sub(-TAIL)
  end

  local function whole()
    if not events then return last end
    return not failed and (last or depth == 0 and not quoted and tail:gsub(COMMENT, ""):find(DONE) ~= nil)
  end
  return feed, numbers, function() return model end, whole
end

local function read(h, events)
  local feed, numbers, model, whole = reader(events)
  for piece in h:bodyChunks() do
    feed(piece:getBytes(0, piece:length()))
  end
  return numbers, model(), whole()
end

-- Metadata is asked for anew after each wait: what was got before can't be used then.
local function say(h, name, value)
  if value then h:streamInfo():dynamicMetadata():set(USAGE, name, value) end
end

function envoy_on_response(h)
  local headers = h:headers()
  local kind = (headers:get("content-type") or ""):lower()
  if not (headers:get(":status") or ""):find("^2") then return end
  if not (kind:find("^application/json") or kind:find("^text/event%-stream")) then return end
  local called = caller(h, h:streamInfo():dynamicMetadata())
  say(h, "caller", called and label(called))
  say(h, "usage", "unknown")
  if (headers:get("content-encoding") or "identity") ~= "identity" then return end
  local n, model, whole = read(h, kind:find("^text") ~= nil)
  say(h, "model", model and label(model))
  if not (whole and next(n)) then return end
  local cached = n.cache_read_input_tokens or 0 -- Anthropic's input is what no cache had to do with
  local input = (n.input_tokens or 0) + cached + (n.cache_creation_input_tokens or 0)
  say(h, "usage", "known")
  say(h, "input_tokens", math.min(n.prompt_tokens or input, MOST))
  say(h, "output_tokens", n.completion_tokens or n.output_tokens or 0)
  say(h, "cached_tokens", n.cached_tokens or cached)
end
