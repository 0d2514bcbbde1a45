-- The same of workers. By key.
UPDATE OR IGNORE workers SET key = (SELECT coalesce(max(key), 0) + 1 FROM workers WHERE key < 9223372036854775807) WHERE key = 9223372036854775807
