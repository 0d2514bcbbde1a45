-- Which key a run is encrypted with. Index runs_id.
SELECT coalesce(sealed, '') FROM {schema}.runs WHERE ns = 0 AND id = $1::text
