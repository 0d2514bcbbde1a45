-- The key of a class. Its unique index.
SELECT key FROM {schema}.classes WHERE workflow = $1::text AND version = $2::integer
