-- Whether a run holds a value. Primary key.
SELECT 1 FROM {schema}.apart WHERE run = $1 AND value = $2
