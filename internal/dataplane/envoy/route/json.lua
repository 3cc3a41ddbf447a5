-- What the scripts of the filters know of JSON. It stands before each of them.

local QUOTE, BACKSLASH, OPEN, CLOSE, FIRST, LAST = 34, 92, 123, 125, 91, 93

local function refuse(why) error(why, 0) end

local function after(text, i) return text:find("[^ \t\r\n]", i) or #text + 1 end

-- The place after the string that begins at i.
local function past_string(text, i)
  local j = i + 1
  while true do
    local k = text:find('["\\]', j)
    if not k then refuse("a string has no end") end
    if text:byte(k) == QUOTE then return k + 1 end
    j = k + 2
  end
end

-- The place after the value that begins at i.
local function past(text, i)
  local c = text:byte(i)
  if c == QUOTE then return past_string(text, i) end
  if c ~= OPEN and c ~= FIRST then return text:find("[,%]}%s]", i) or #text + 1 end
  local depth, j = 0, i
  while true do
    local k = text:find('["{}%[%]]', j)
    if not k then refuse("an object or a list has no end") end
    local b = text:byte(k)
    if b == QUOTE then
      j = past_string(text, k)
    else
      depth = depth + ((b == OPEN or b == FIRST) and 1 or -1)
      j = k + 1
      if depth == 0 then return j end
    end
  end
end

-- Goes over the values of the object or the list that begins at i, and returns the place after it. each(first, key, at)
-- returns the place after a value. Its key begins at a place, and is as it is written; a list has none.
local function values(text, i, each)
  local object = text:byte(i) == OPEN
  local last = object and CLOSE or LAST
  i = after(text, i + 1)
  if text:byte(i) == last then return i + 1 end
  while true do
    local key, at
    if object then
      at = i
      if text:byte(i) ~= QUOTE then refuse("a name is not a string") end
      local j = past_string(text, i)
      key = text:sub(i + 1, j - 2)
      i = after(text, j)
      if text:sub(i, i) ~= ":" then refuse("a name has no value") end
      i = after(text, i + 1)
    end
    local j = each(i, key, at)
    if j == i then refuse("a value is missing") end
    i = after(text, j)
    local b = text:byte(i)
    if b == last then return i + 1 end
    if b ~= 44 then refuse("a comma is missing between values") end
    i = after(text, i + 1)
  end
end

-- Where the only value of a name in the object at i begins; nil: it has none.
local function only(text, i, name)
  local found
  values(text, i, function(first, key)
    if key:find("\\", 1, true) then error("a name has a backslash") end
    if key == name then
      if found then error(name .. " stands there twice") end
      found = first
    end
    return past(text, first)
  end)
  return found
end

local PLAIN = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

-- The character that \u and four digits mean; half of a pair stays as it is.
local function character(digits)
  local code = tonumber(digits, 16)
  if code < 0x80 then return string.char(code) end
  if code < 0x800 then return string.char(0xC0 + math.floor(code / 0x40), 0x80 + code % 0x40) end
  if code >= 0xD800 and code < 0xE000 then return "u" .. digits:lower() end
  return string.char(0xE0 + math.floor(code / 0x1000), 0x80 + math.floor(code / 0x40) % 0x40, 0x80 + code % 0x40)
end

local function decoded(name)
  if not name:find("\\", 1, true) then return name end
  return (name:gsub("\\\\", "\1"):gsub("\\u(%x%x%x%x)", character):gsub("\\(.)", function(c) return PLAIN[c] or c end))
end
