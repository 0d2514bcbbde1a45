-- Runs are over. By key; the rows are locked. Whoever wants to wait for their end and comes later finds no row.
DELETE FROM {schema}.queue WHERE run = ANY($1::bigint[])
