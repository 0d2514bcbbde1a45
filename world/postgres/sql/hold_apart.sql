-- Events of runs name values: those that they hold, or get of other runs that do, are theirs from now on, and not deleted meanwhile. Primary keys.
INSERT INTO {schema}.apart (run, value, key)
SELECT DISTINCT n.run, n.value, (SELECT max(h.key) FROM {schema}.apart h WHERE h.run IN (n.run, n.holder) AND h.value = n.value) FROM unnest($1::text[], $2::text[], $3::text[]) n(run, value, holder)
WHERE EXISTS (SELECT 1 FROM {schema}.apart h WHERE h.run IN (n.run, n.holder) AND h.value = n.value)
  AND EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = n.value AND p.number = 0 FOR KEY SHARE)
ORDER BY 1, 2
ON CONFLICT (run, value) DO UPDATE SET at = NULL RETURNING run, value
