-- The next runs with attributes, for a migration. By key.
SELECT key, attributes FROM runs WHERE key > ?1 AND attributes IS NOT NULL ORDER BY key LIMIT ?2
