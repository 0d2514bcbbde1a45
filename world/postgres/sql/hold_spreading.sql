-- Has nobody spread, or subscribe, until the end of the transaction; waits for who does.
SELECT revision FROM {schema}.spreading LIMIT 1 FOR UPDATE
