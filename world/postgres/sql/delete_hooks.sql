-- Hooks that were disposed. Index hooks_run.
WITH gone AS (
  DELETE FROM {schema}.hooks h USING unnest($1::bigint[], $2::text[]) a(run, id) WHERE h.run = a.run AND h.id = a.id
  RETURNING h.token, h.run, h.id, h.metadata, h.created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone
