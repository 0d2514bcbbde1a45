-- Values that are too large for a log, in pieces, and which runs hold them. A run may hold one before it is there; only
-- what a run holds may its log name.
CREATE TABLE {schema}.apart (
  run   text NOT NULL,
  value text NOT NULL,
  at    timestamptz, -- when it was written; null: an event names it
  key   text,        -- ID of the key that the value is encrypted with; null: it is plain
  PRIMARY KEY (run, value)
);
CREATE INDEX apart_value ON {schema}.apart (value);
CREATE INDEX apart_at ON {schema}.apart (at) WHERE at IS NOT NULL;

CREATE TABLE {schema}.apart_pieces (
  value  text    NOT NULL,
  number integer NOT NULL,
  data   bytea   NOT NULL,
  sum    integer NOT NULL,
  PRIMARY KEY (value, number)
);
ALTER TABLE {schema}.apart_pieces ALTER COLUMN data SET STORAGE EXTERNAL; -- encrypted, or compressed: trying to would be in vain

ALTER TABLE {schema}.runs ADD COLUMN output_apart text; -- the value that the output refers to; null: it is the value
