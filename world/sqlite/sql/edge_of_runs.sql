-- The run that comes so many after a key: a page of a filtered list stops before it. By key.
SELECT key FROM runs WHERE key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2
