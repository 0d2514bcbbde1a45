-- Weights of keys: one has so many times the places that its limit says. As code says them. A key that is not here has 1. key: as in
-- limit_keys.
CREATE TABLE {schema}.limit_weights (
  key    text     COLLATE "C" PRIMARY KEY,
  weight smallint NOT NULL
);

-- Whether runs, steps, and messages are under a limit; none: nobody has said since this version.
ALTER TABLE {schema}.limits ADD COLUMN runs boolean NOT NULL DEFAULT false, ADD COLUMN steps boolean NOT NULL DEFAULT false,
  ADD COLUMN messages boolean NOT NULL DEFAULT false;

-- The run in whose place a singleton is, for whose end it waits.
ALTER TABLE {schema}.queue ADD COLUMN behind text;
