-- Events of runs name values: those that are there are held, and not deleted meanwhile. Primary keys.
INSERT INTO {schema}.apart (run, value)
SELECT DISTINCT n.run, n.value FROM unnest($1::text[], $2::text[]) n(run, value)
WHERE EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = n.value AND p.number = 0 FOR KEY SHARE)
ORDER BY 1, 2
ON CONFLICT (run, value) DO UPDATE SET at = NULL RETURNING value
