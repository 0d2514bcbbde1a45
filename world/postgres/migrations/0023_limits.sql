-- Limits. A run that needs places has them in its row of the queue: places, "limit/key" each, in the order in which it
-- takes them; how many of the first it keeps until its end; and how many it has. parked_at: it stands in the line of
-- the next one, there. It is not ready while it does.
ALTER TABLE {schema}.queue ADD COLUMN places text[], ADD COLUMN keeps smallint, ADD COLUMN has smallint, ADD COLUMN parked_at timestamptz;

-- A few. said: places of a key, as code says; number: as an operator says, and then that holds.
CREATE TABLE {schema}.limits (
  name      text    PRIMARY KEY,
  said      integer NOT NULL,
  number    integer,
  until_end boolean NOT NULL
);

-- One for each key of which places are held, or somebody stands in line. used: places that are held.
CREATE TABLE {schema}.limit_keys (
  key  text    COLLATE "C" PRIMARY KEY,
  used integer NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Runs that wait for a place, in the order in which they get it.
CREATE TABLE {schema}.limit_line (
  key     text        COLLATE "C" NOT NULL,
  urgency smallint    NOT NULL, -- 3 less the priority
  place   timestamptz NOT NULL,
  run     bigint      NOT NULL,
  PRIMARY KEY (key, urgency, place, run)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What has changed since somebody admitted last. kind 0: a place is free; 1: look again; 2: a run has come.
CREATE TABLE {schema}.limit_news (
  key     text     COLLATE "C" NOT NULL,
  kind    smallint NOT NULL,
  id      bigint   GENERATED ALWAYS AS IDENTITY,
  urgency smallint,
  place   timestamptz,
  run     bigint,
  PRIMARY KEY (key, kind, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- One row, which is locked by who admits: how often that was, and behind which key the next look begins.
CREATE TABLE {schema}.limiting (
  revision bigint NOT NULL,
  behind   text   COLLATE "C" NOT NULL
);
INSERT INTO {schema}.limiting VALUES (1, '');
