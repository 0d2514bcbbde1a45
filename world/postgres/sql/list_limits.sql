-- All limits, which are few, or one.
SELECT name, said, number, until_end FROM {schema}.limits WHERE $1::text IS NULL OR name = $1 ORDER BY name COLLATE "C"
