-- Code says something else of a limit. By key.
UPDATE {schema}.limits SET said = $2, per_ns = nullif($3::bigint, 0), burst = nullif($4::integer, 0), runs = runs OR $5, steps = steps OR $6, messages = messages OR $7
WHERE name = $1 AND (said <> $2 OR coalesce(per_ns, 0) <> $3 OR coalesce(burst, 0) <> $4 OR $5 AND NOT runs OR $6 AND NOT steps OR $7 AND NOT messages)
