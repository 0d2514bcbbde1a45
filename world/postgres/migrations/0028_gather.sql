-- Runs that gather the inputs of further starts of their workflow and key (name), until they begin. A row whose run is not
-- open any more, as the queue says, stands for nothing, and goes when another takes its place, or behind until_at.
CREATE TABLE {schema}.buckets (
  workflow text        NOT NULL,
  name     text        NOT NULL,
  run      bigint      NOT NULL,
  quiet_ns bigint      NOT NULL, -- it begins when no input has come for so long; 0: a batch
  number   integer     NOT NULL, -- of a batch: it begins with so many
  until_at timestamptz NOT NULL, -- it begins then at the latest
  items    integer     NOT NULL, -- inputs that it has
  bytes    bigint      NOT NULL, -- of those
  PRIMARY KEY (workflow, name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX buckets_run ON {schema}.buckets (run);
CREATE INDEX buckets_until ON {schema}.buckets (until_at);

-- The idempotency key of a start whose input was given to the run: workflow and idem.
ALTER TABLE {schema}.delivered ADD COLUMN workflow text, ADD COLUMN idem text;
CREATE UNIQUE INDEX delivered_idem ON {schema}.delivered (workflow, idem) WHERE idem IS NOT NULL;

-- A start in SQL is not merged: it is refused where the definition says that starts are.
DO $gather$
DECLARE
  place text := '  kept := coalesce(nullif((said ->> ';
  made  text := pg_get_functiondef((SELECT p.oid FROM pg_proc p WHERE p.pronamespace = $n${schema}$n$::regnamespace AND p.proname = 'start'));
BEGIN
  IF position(place IN made) = 0 THEN RAISE EXCEPTION 'the function start is not as it was made: make it again, by the file 0020_functions.sql'; END IF;
  EXECUTE replace(made, place, $new$  IF said -> 'gather' IS NOT NULL THEN
    RAISE EXCEPTION 'workflow %: its starts are merged, and SQL does not do that', flow
      USING ERRCODE = '0A000', HINT = 'Start it from a program, or over REST.';
  END IF;
$new$ || place);
END $gather$;
