-- Code says something else of a limit. By key.
UPDATE {schema}.limits SET said = $2, per_ns = nullif($3::bigint, 0), burst = nullif($4::integer, 0), runs = runs OR NOT $5::boolean, steps = steps OR $5
WHERE name = $1 AND (said <> $2 OR coalesce(per_ns, 0) <> $3 OR coalesce(burst, 0) <> $4 OR NOT CASE WHEN $5 THEN steps ELSE runs END)
