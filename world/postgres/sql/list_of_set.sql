-- The schedules of a set of a program, behind a name, by name. Index schedules_set.
SELECT name, said, sum, change FROM {schema}.schedules WHERE of_set = $1 AND name > $2 ORDER BY name LIMIT $3::bigint
