-- Some runs ($1), and those whose places they took, as far back as that goes, each once. Index runs_id.
WITH RECURSIVE line (id, idem, parent) AS (
  SELECT r.id, r.idem, r.parent_run FROM unnest($1::text[]) i (id)
  CROSS JOIN LATERAL (SELECT id, idem, parent_run FROM {schema}.runs WHERE ns = 0 AND id = i.id LIMIT 1) r
  UNION
  SELECT r.id, r.idem, r.parent_run FROM line p
  CROSS JOIN LATERAL (SELECT id, idem, parent_run FROM {schema}.runs WHERE ns = 0 AND id = substr(p.idem, 7) LIMIT 1) r
  WHERE p.idem LIKE 'retry:%'
)
SELECT id, idem, parent FROM line
