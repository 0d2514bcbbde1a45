-- A key is counted anew. By key.
UPDATE limit_keys SET used = ?2, live = ?3 WHERE key = ?1
