-- Keys of which nobody holds a place, for which nobody stands in line, and that have nothing to remember. By key.
DELETE FROM {schema}.limit_keys k WHERE k.key = ANY($1::text[]) AND k.used <= 0 AND k.due IS NULL AND NOT EXISTS (SELECT 1 FROM {schema}.limit_line l WHERE l.key = k.key)
