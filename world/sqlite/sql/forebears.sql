-- Some runs, and those whose places they took, as far back as that goes, each once. Index runs_id.
WITH RECURSIVE line (id, idem, parent) AS (
  SELECT r.id, r.idem, r.parent_run FROM json_each(?1) j CROSS JOIN runs r ON r.ns = 0 AND r.id = j.value
  UNION
  SELECT r.id, r.idem, r.parent_run FROM line p CROSS JOIN runs r ON r.ns = 0 AND r.id = substr(p.idem, 7)
  WHERE substr(p.idem, 1, 6) = 'retry:'
)
SELECT id, idem, parent FROM line
