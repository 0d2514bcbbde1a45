-- What was not wanted of a run is gone. By key.
DELETE FROM {schema}.trims WHERE run = $1::bigint AND before <= $2::bigint
