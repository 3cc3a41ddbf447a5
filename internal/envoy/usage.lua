-- What requests to models took. Reads the usage of tokens and the model out of answers of model servers (OpenAI's and
-- Anthropic's APIs, as JSON and as events), and says so in metadata, with who called (package modelusage). Each piece of
-- an answer goes on at once, as it is. A piece of text can't look like the usage: the quotes in it have backslashes.

local USAGE, OPTIONS = "cardea.dev/usage", "cardea.dev/usage-options"
local KEPT = 4096 -- bytes that are read again with the next piece: more than a usage has
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
  "prompt_tokens", "completion_tokens", "cached_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens",
  "cache_creation_input_tokens",
}

-- Takes the numbers that a text states into a table, which a usage without any leaves as it is.
local function take(numbers, text)
  for _, name in ipairs(NUMBERS) do
    local n = tonumber(text:match('"' .. name .. '"%s*:%s*(%d+)'))
    if n then numbers[name] = math.min(n, MOST) end
  end
end

-- Takes the usages in a text from a byte on, the last one last. Returns the byte from which the text is read again when
-- more of it is there. What follows a key is read up to the next one only, so that each byte is read a few times at most,
-- whatever is never closed.
local function find(text, from, numbers)
  local at = text:find('"usage"', from, true)
  if not at then return math.max(1, #text - 5) end
  while true do
    local after = text:find('"usage"', at + 1, true)
    local usage = text:sub(at, after and after - 1):match('^"usage"%s*:%s*(%b{})')
    if usage then take(numbers, usage) end
    if not after then return at end
    at = after
  end
end

-- The last numbers of the usages in an answer (Anthropic's events tell some at the beginning and others at the end), and the
-- first model.
local function read(h)
  local numbers, model, kept, from = {}, nil, "", 1
  for piece in h:bodyChunks() do
    local text = kept .. piece:getBytes(0, piece:length())
    if not model and text:find('"model"', 1, true) then
      model = text:match('"model"%s*:%s*"([%w%._:/@+-]+)"')
    end
    from = find(text, from, numbers)
    kept = text:sub(-KEPT)
    from = math.max(1, from - #text + #kept)
  end
  return numbers, model
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
  local n, model = read(h)
  say(h, "model", model and label(model))
  if not next(n) then return end
  local cached = n.cache_read_input_tokens or 0 -- Anthropic's input is what no cache had to do with
  local input = (n.input_tokens or 0) + cached + (n.cache_creation_input_tokens or 0)
  say(h, "usage", "known")
  say(h, "input_tokens", math.min(n.prompt_tokens or input, MOST))
  say(h, "output_tokens", n.completion_tokens or n.output_tokens or 0)
  say(h, "cached_tokens", n.cached_tokens or cached)
end
