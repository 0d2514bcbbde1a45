-- The leases of workers that wake up from idleness. By key.
UPDATE {schema}.workers SET until = clock_timestamp() + (lease_ns / 1000) * interval '1 microsecond' WHERE key = ANY($1::bigint[])
