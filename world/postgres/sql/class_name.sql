-- A class by its key.
SELECT workflow, version FROM {schema}.classes WHERE key = $1::integer
