-- More or less places of a key are held. By key.
UPDATE limit_keys SET used = used + ?2 WHERE key = ?1
