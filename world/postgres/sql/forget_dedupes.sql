-- Forgets dedupe IDs whose window is over. Index dedupes_until.
DELETE FROM {schema}.dedupes WHERE until <= clock_timestamp()
