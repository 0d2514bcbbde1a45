-- Runs go on in a new segment; hooks that are not named (a JSON array of IDs for each) are over. Index hooks_run.
WITH gone AS (
  DELETE FROM {schema}.hooks h USING unnest($1::bigint[], $2::text[]) a(run, ids)
  WHERE h.run = a.run AND h.id NOT IN (SELECT json_array_elements_text(a.ids::json))
  RETURNING h.token, h.run, h.id, h.metadata, h.created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone
