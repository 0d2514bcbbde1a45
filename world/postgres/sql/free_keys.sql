-- Runs give their idempotency keys back. By key.
UPDATE {schema}.runs SET idem = NULL WHERE key = ANY($1::bigint[])
