-- The same of those that were made of one. Index runs_origin, covering.
SELECT key FROM runs WHERE origin_run = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2
