-- Whether a run ID is taken. Index runs_id.
SELECT 1 FROM {schema}.runs WHERE ns = 0 AND id = $1::text
