-- Runs are swept: they wait for nobody. Index awaits_waiter.
DELETE FROM {schema}.awaits WHERE waiter = ANY ($1::bigint[])
