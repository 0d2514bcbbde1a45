-- Removes the row of reserve_number: until the transaction ends, nobody else gets the number all the same. Index log_run.
DELETE FROM {schema}.log WHERE run = $1::bigint AND seq = $2::bigint AND n = 0
