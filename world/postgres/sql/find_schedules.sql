-- Some schedules, by name.
SELECT name, said, sum, change FROM {schema}.schedules WHERE name = ANY ($1::text[]) ORDER BY name LIMIT $2::bigint
