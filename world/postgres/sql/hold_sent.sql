-- What is sent to runs names values: those that are there are held from now on, and not deleted meanwhile. Primary keys.
INSERT INTO {schema}.apart (run, value, at)
SELECT DISTINCT n.run, n.value, clock_timestamp() FROM unnest($1::text[], $2::text[]) n(run, value)
WHERE EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = n.value AND p.number = 0 FOR KEY SHARE)
ORDER BY 1, 2
ON CONFLICT (run, value) DO NOTHING
