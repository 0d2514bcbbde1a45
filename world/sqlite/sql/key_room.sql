-- How many places of a key are free; below 0 where its number was lowered. By key.
SELECT coalesce(l.number, l.said) - k.used FROM limit_keys k JOIN limits l ON l.name = k.name WHERE k.key = ?1
