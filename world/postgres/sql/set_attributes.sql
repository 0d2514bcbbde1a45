-- The attributes of runs have changed. By key.
UPDATE {schema}.runs r SET attributes = a.attrs FROM unnest($1::bigint[], $2::text[]) a(run, attrs) WHERE r.key = a.run
