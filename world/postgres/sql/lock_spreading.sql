-- Has nobody else spread until the end of the transaction. No row: somebody does.
SELECT revision, cut FROM {schema}.spreading LIMIT 1 FOR UPDATE SKIP LOCKED
