-- Rates: so many runs of a key begin in a period. rates: how many of the last places of a run are of rates; it needs them
-- until it is claimed.
ALTER TABLE queue ADD COLUMN rates INTEGER NOT NULL DEFAULT 0;

-- Of a rate, as code says: the period, how many may begin at one moment, and whether the others are refused.
ALTER TABLE limits ADD COLUMN per_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limits ADD COLUMN burst INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limits ADD COLUMN refuse INTEGER NOT NULL DEFAULT 0;

-- turn_ns: the next has its turn; late: somebody has stood in line since one was let in; due_us: when it is to be looked at again.
ALTER TABLE limit_keys ADD COLUMN turn_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limit_keys ADD COLUMN late INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limit_keys ADD COLUMN due_us INTEGER;
CREATE INDEX limit_keys_due ON limit_keys (due_us) WHERE due_us IS NOT NULL;

PRAGMA user_version = 26;
