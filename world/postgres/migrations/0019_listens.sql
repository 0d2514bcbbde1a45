-- Waits of runs that listen to what is published.
CREATE TABLE {schema}.listens (
  run   bigint      NOT NULL,
  wait  text        NOT NULL,
  shape text        NOT NULL, -- JSON: pattern, paths of the match, key
  hash  bigint      NOT NULL,
  back  timestamptz,          -- it gets what went out since then, too, and has not yet; null: no
  PRIMARY KEY (run, wait)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
CREATE INDEX listens_hash ON {schema}.listens (shape, hash, run, wait);
CREATE INDEX listens_back ON {schema}.listens (run, wait) WHERE back IS NOT NULL;
