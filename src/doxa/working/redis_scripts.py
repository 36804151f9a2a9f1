"""The Lua scripts by which working memory changes Redis: each is atomic.

    {prefix}:s:DIGEST   hash    a session: key, generation, since, until, last, done, dropped
    {prefix}:m:DIGEST   list    its messages, each "NUMBER TOKEN JSON"
    {prefix}:t:DIGEST   hash    token to number, of the messages in the list
    {prefix}:i:DIGEST   zset    the digests of a project's sessions by until
    {prefix}:u:DIGEST   hash    a user's handle in a context: name, until
    {prefix}:n:DIGEST   string  the last number of a day's handles
    {prefix}:secret     string  the key of the pseudonyms

A DIGEST is of names with their lengths, so that no name can run into another. All keys have one
hash tag and so one slot of a cluster. Every key but the secret expires by Redis' clock; `until` is
compared with the caller's, which tests set. Times are milliseconds and stay text, since a number of
Lua is printed with 14 digits.
"""

from __future__ import annotations

# KEYS: session, messages, tokens, index, user. ARGV: now, until, ttl, token, JSON, most messages,
# most sessions, generation, key, digest, handle
# The first write is one that a full server refuses: after a removal it lets a script write on.
APPEND = """
local ended = redis.call('HGET', KEYS[1], 'until')
if not ended or tonumber(ended) <= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'until', '0')
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', ARGV[1])
  if redis.call('ZCARD', KEYS[4]) >= tonumber(ARGV[7]) then return false end
  redis.call('HSET', KEYS[1], 'generation', ARGV[8], 'key', ARGV[9], 'since', ARGV[1],
    'last', '0', 'done', '0', 'dropped', '0')
end
local number, first = redis.call('HGET', KEYS[3], ARGV[4]), ''
if number then
  local last = tonumber(redis.call('HGET', KEYS[1], 'last'))
  local place = tonumber(number) - (last - redis.call('LLEN', KEYS[2])) - 1
  first = redis.call('LINDEX', KEYS[2], place)
else
  number = tostring(redis.call('HINCRBY', KEYS[1], 'last', 1))
  redis.call('RPUSH', KEYS[2], number .. ' ' .. ARGV[4] .. ' ' .. ARGV[5])
  redis.call('HSET', KEYS[3], ARGV[4], number)
  while redis.call('LLEN', KEYS[2]) > tonumber(ARGV[6]) do
    local old, token = string.match(redis.call('LPOP', KEYS[2]), '^(%d+) (%x+) ')
    redis.call('HDEL', KEYS[3], token)
    if tonumber(old) > tonumber(redis.call('HGET', KEYS[1], 'done')) then
      redis.call('HINCRBY', KEYS[1], 'dropped', 1)
    end
  end
end
redis.call('HSET', KEYS[1], 'until', ARGV[2])
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[10])
if redis.call('PTTL', KEYS[4]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[4], ARGV[3]) end
if redis.call('HGET', KEYS[5], 'name') == ARGV[11] then
  redis.call('HSET', KEYS[5], 'until', ARGV[2])
  redis.call('PEXPIRE', KEYS[5], ARGV[3])
end
local found = redis.call('HMGET', KEYS[1], 'generation', 'last', 'done', 'dropped')
return {number, first, redis.call('LLEN', KEYS[2]), found[1], found[2], found[3], found[4]}
"""

# KEYS: as above. ARGV: now, until, ttl (0: the session does not live on), how many, digest, handle
READ = """
local found = redis.call('HMGET', KEYS[1], 'generation', 'since', 'until', 'last', 'done',
  'dropped')
if not found[1] or tonumber(found[3]) <= tonumber(ARGV[1]) then return false end
if ARGV[3] ~= '0' then
  redis.call('HSET', KEYS[1], 'until', ARGV[2])
  found[3] = ARGV[2]
  for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[5])
  if redis.call('PTTL', KEYS[4]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[4], ARGV[3])
  end
  if redis.call('HGET', KEYS[5], 'name') == ARGV[6] then
    redis.call('HSET', KEYS[5], 'until', ARGV[2])
    redis.call('PEXPIRE', KEYS[5], ARGV[3])
  end
end
local messages = {}
if ARGV[4] ~= '0' then messages = redis.call('LRANGE', KEYS[2], '-' .. ARGV[4], -1) end
return {found, redis.call('LLEN', KEYS[2]), messages}
"""

# KEYS: session, messages. ARGV: now, generation, number
MARK = """
local found = redis.call('HMGET', KEYS[1], 'generation', 'until', 'last', 'done')
if found[1] ~= ARGV[2] or tonumber(found[2]) <= tonumber(ARGV[1]) then return false end
local last, done = tonumber(found[3]), tonumber(found[4])
local upto = math.max(done, math.min(tonumber(ARGV[3]), last))
redis.call('HSET', KEYS[1], 'done', string.format('%.0f', upto))
local length = redis.call('LLEN', KEYS[2])
return math.min(length, last - done) - math.min(length, last - upto)
"""

# KEYS: session, messages, tokens, index, user. ARGV: now, digest, handle
CLEAR = """
local ended = redis.call('HGET', KEYS[1], 'until')
local length = 0
if ended and tonumber(ended) > tonumber(ARGV[1]) then length = redis.call('LLEN', KEYS[2]) end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[2])
if redis.call('HGET', KEYS[5], 'name') == ARGV[3] then redis.call('DEL', KEYS[5]) end
return length
"""

# KEYS: user, counter. ARGV: now, until, ttl, prefix, how long the counter lives
MINT = """
local found = redis.call('HMGET', KEYS[1], 'name', 'until')
if found[1] and tonumber(found[2]) > tonumber(ARGV[1]) then return found[1] end
local number = redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
local name = ARGV[4] .. string.format('%03d', number)
redis.call('HSET', KEYS[1], 'name', name, 'until', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return name
"""
