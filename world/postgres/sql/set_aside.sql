-- Publications go to nobody.
UPDATE {schema}.due SET due_at = 'infinity', error = ($2::text[])[array_position($1::bigint[], publication)] WHERE publication = ANY($1::bigint[])
