-- Publications were spread.
DELETE FROM {schema}.due WHERE publication = ANY($1::bigint[])
