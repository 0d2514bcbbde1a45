-- Publications were spread.
DELETE FROM {schema}.due d USING unnest($1::bigint[]) u(key) WHERE d.publication = u.key
