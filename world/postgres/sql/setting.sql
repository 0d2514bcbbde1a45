-- What operators set for all. Index settings_pkey.
SELECT value FROM {schema}.settings WHERE name = $1
