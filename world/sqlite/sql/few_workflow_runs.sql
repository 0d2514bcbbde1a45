-- How many runs of a workflow there are before a key, counted up to a few. Index runs_workflow, covering.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE workflow = ?1 AND key < ?2 LIMIT ?3)
