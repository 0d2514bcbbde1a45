-- Rates: so many runs of a key begin in a period. rates: how many of the last places of a run are of rates; it needs them
-- until it is claimed.
ALTER TABLE {schema}.queue ADD COLUMN rates smallint;

-- Of a rate, as code says: the period, how many may begin at one moment, and whether the others are refused.
ALTER TABLE {schema}.limits ADD COLUMN per_ns bigint, ADD COLUMN burst integer, ADD COLUMN refuse boolean;

-- turn_ns: the next has its turn, since 1970; late: somebody has stood in line since one was let in; due: when who looks for
-- work makes news of the key.
ALTER TABLE {schema}.limit_keys ADD COLUMN turn_ns bigint, ADD COLUMN late boolean, ADD COLUMN due timestamptz;
CREATE INDEX limit_keys_due ON {schema}.limit_keys (due) WHERE due IS NOT NULL;
