-- All limits, which are few, or one.
SELECT name, said, number, until_end, coalesce(per_ns, 0), coalesce(burst, 0), coalesce(refuse, false), runs, steps, messages FROM {schema}.limits
WHERE $1::text IS NULL OR name = $1 ORDER BY name COLLATE "C"
