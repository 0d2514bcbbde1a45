-- Runs are over: nobody waits for them any more. By key.
DELETE FROM {schema}.awaits WHERE target = ANY($1::bigint[])
