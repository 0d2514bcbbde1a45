-- Publications go to nobody.
UPDATE {schema}.due d SET due_at = 'infinity', error = u.error FROM unnest($1::bigint[], $2::text[]) u(key, error) WHERE d.publication = u.key
