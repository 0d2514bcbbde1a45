-- Whether a worker is alive. By key.
SELECT clock_timestamp(), until FROM {schema}.workers WHERE key = $1 AND ended IS NULL
