-- A workflow is held no more. By key.
UPDATE {schema}.holds SET state = 2, changed_at = clock_timestamp() WHERE workflow = $1::text
