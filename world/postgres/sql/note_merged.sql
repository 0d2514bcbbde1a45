-- An input that a run was given is known from now on, with the idempotency key of its start. Primary key.
INSERT INTO {schema}.delivered (run, key, sender, marked, workflow, idem) VALUES ($1::bigint, $2::bytea, $3::text, $4::boolean, $5::text, $6::text)
