-- Schedules: when runs start by themselves.
CREATE TABLE {schema}.schedules (
  name   text    PRIMARY KEY,
  said   text    NOT NULL, -- JSON, see package layout
  sum    integer NOT NULL,
  change bigint  NOT NULL, -- number of the last change
  code   text    NOT NULL, -- the set whose code it needs; '': none
  due_at timestamptz,      -- when to look at it again; null: never
  of_set text              -- of a program that declares it; null: none
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX schedules_due ON {schema}.schedules (code, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_set ON {schema}.schedules (of_set, name) WHERE of_set IS NOT NULL;
