-- Weights of keys: one has so many times the places that its limit says. As code says them. A key that is not here has 1.
CREATE TABLE limit_weights (
  name   TEXT    NOT NULL,
  text   TEXT    NOT NULL,
  weight INTEGER NOT NULL,
  PRIMARY KEY (name, text)
) WITHOUT ROWID;

-- Whether runs, steps, and messages are under a limit; none: nobody has said since this version.
ALTER TABLE limits ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limits ADD COLUMN steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE limits ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;

-- The run in whose place a singleton is, for whose end it waits.
ALTER TABLE queue ADD COLUMN behind TEXT;

PRAGMA user_version = 31;
