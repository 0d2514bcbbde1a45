-- The same of one workflow. Index runs_workflow, covering.
SELECT key FROM runs WHERE workflow = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2
