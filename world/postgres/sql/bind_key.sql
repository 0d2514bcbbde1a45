-- An ID stands for a key from now on, unless it does for one. Index keys_pkey.
INSERT INTO {schema}.keys (id, print) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING
