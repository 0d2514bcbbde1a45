-- The fingerprint that the ID of a key is bound to. Index keys_pkey.
SELECT print FROM {schema}.keys WHERE id = $1
