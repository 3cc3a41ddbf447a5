-- HMAC-SHA256 (RFC 2104, FIPS 180-4). Numbers are doubles: sums stay exact, and tobit takes them modulo 2^32.
local bit = require("bit")
local band, bor, bxor, bnot = bit.band, bit.bor, bit.bxor, bit.bnot
local rotate, shift, tobit = bit.ror, bit.rshift, bit.tobit

-- The first bits of the fractional parts of roots of primes, which start the hash and go into its rounds.
local function fraction(root) return tobit(math.floor((root % 1) * 2 ^ 32)) end
local start, rounds = {}, {}
local candidate = 2
while #rounds < 64 do
  local prime = true
  for n = 2, math.floor(math.sqrt(candidate)) do prime = prime and candidate % n ~= 0 end
  if prime then
    if #start < 8 then start[#start + 1] = fraction(math.sqrt(candidate)) end
    rounds[#rounds + 1] = fraction(candidate ^ (1 / 3))
  end
  candidate = candidate + 1
end

local function word(n) return string.char(band(shift(n, 24), 255), band(shift(n, 16), 255), band(shift(n, 8), 255), band(n, 255)) end

local function block(h, text, at)
  local w = {}
  for j = 0, 15 do
    local a, b, c, d = string.byte(text, at + 4 * j, at + 4 * j + 3)
    w[j] = bor(bit.lshift(a, 24), bit.lshift(b, 16), bit.lshift(c, 8), d)
  end
  for j = 16, 63 do
    local x, y = w[j - 15], w[j - 2]
    local s0 = bxor(rotate(x, 7), rotate(x, 18), shift(x, 3))
    local s1 = bxor(rotate(y, 17), rotate(y, 19), shift(y, 10))
    w[j] = tobit(w[j - 16] + s0 + w[j - 7] + s1)
  end
  local a, b, c, d, e, f, g, i = unpack(h)
  for j = 0, 63 do
    local s1 = bxor(rotate(e, 6), rotate(e, 11), rotate(e, 25))
    local t = i + s1 + bxor(band(e, f), band(bnot(e), g)) + rounds[j + 1] + w[j]
    local s0 = bxor(rotate(a, 2), rotate(a, 13), rotate(a, 22))
    local u = s0 + bxor(band(a, b), band(a, c), band(b, c))
    i, g, f, e, d, c, b, a = g, f, e, tobit(d + t), c, b, a, tobit(t + u)
  end
  for n, v in ipairs({a, b, c, d, e, f, g, i}) do h[n] = tobit(h[n] + v) end
end

local function sha256(text)
  local h = {unpack(start)}
  local length = #text
  text = text .. "\128" .. string.rep("\0", (55 - length) % 64) .. "\0\0\0\0" .. word(length * 8)
  for at = 1, #text, 64 do block(h, text, at) end
  for n = 1, 8 do h[n] = word(h[n]) end
  return table.concat(h)
end

local function hmac(key, text)
  if #key > 64 then key = sha256(key) end
  key = key .. string.rep("\0", 64 - #key)
  local function with(n) return (key:gsub(".", function(c) return string.char(bxor(c:byte(), n)) end)) end
  local sum = sha256(with(0x5c) .. sha256(with(0x36) .. text))
  return (sum:gsub(".", function(c) return string.format("%02x", c:byte()) end))
end

function envoy_on_request(handle)
  local headers = handle:headers()
  for _, s in ipairs(signatures) do
    local lines = {headers:get(":method"), headers:get(":path")}
    for _, name in ipairs(s.covers) do lines[#lines + 1] = headers:get(name) or "" end
    headers:replace(s.header, hmac(s.key, table.concat(lines, "\n")))
  end
end
