-- Hooks that were disposed. Index hooks_run.
DELETE FROM {schema}.hooks h USING unnest($1::bigint[], $2::text[]) a(run, id) WHERE h.run = a.run AND h.id = a.id
