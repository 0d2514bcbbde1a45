-- The table of versions is there.
CREATE TABLE IF NOT EXISTS {schema}.versions (
  version    integer PRIMARY KEY,
  name       text        NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
