-- Of chunks whose segment nobody knows the newest is taken. Index chunks_nowhere, runs_pkey.
UPDATE {schema}.chunks c SET segment = r.segment FROM {schema}.runs r WHERE c.run = $1::bigint AND c.segment IS NULL AND r.key = c.run
