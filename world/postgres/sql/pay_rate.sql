-- A start has paid: the next has its turn then ($2), and the key may be forgotten ($3). By key.
UPDATE {schema}.limit_keys SET turn_ns = $2, due = $3 WHERE key = $1
