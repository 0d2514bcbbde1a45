-- Workers that live behind servers: any of these may speak for one, and the end of a server is not their death.
ALTER TABLE {schema}.workers ADD COLUMN remote boolean NOT NULL DEFAULT false;
-- Of a worker's lane for takes: the number of the last one, and which process made it. No earlier one gives anything.
ALTER TABLE {schema}.lanes ADD COLUMN taken bigint NOT NULL DEFAULT 0;
ALTER TABLE {schema}.lanes ADD COLUMN taker text   NOT NULL DEFAULT '';
