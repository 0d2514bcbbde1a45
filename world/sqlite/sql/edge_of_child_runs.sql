-- The same of the children of one. Index runs_parent, covering.
SELECT key FROM runs WHERE parent_run = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2
