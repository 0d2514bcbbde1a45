-- Runs go on in a new segment: their open steps wait no more. Index awaits_waiter.
DELETE FROM {schema}.awaits WHERE waiter = ANY($1::bigint[])
