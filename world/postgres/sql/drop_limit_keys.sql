-- Keys of which nobody holds a place, and for which nobody stands in line. By key.
DELETE FROM {schema}.limit_keys k WHERE k.key = ANY($1::text[]) AND k.used <= 0 AND NOT EXISTS (SELECT 1 FROM {schema}.limit_line l WHERE l.key = k.key)
