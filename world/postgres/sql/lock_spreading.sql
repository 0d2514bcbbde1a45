-- Has nobody else spread until the end of the transaction. No row: somebody does.
SELECT revision, cut FROM {schema}.spreading WHERE key = 1 FOR UPDATE SKIP LOCKED
