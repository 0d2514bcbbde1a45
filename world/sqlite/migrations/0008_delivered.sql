-- What was delivered under an ID is known when it comes again: see Delivery.Key of package world.
CREATE TABLE delivered (
  run    INTEGER NOT NULL,
  key    BLOB    NOT NULL,
  at_us  INTEGER NOT NULL,
  print  BLOB,             -- fingerprint of the payload
  sender TEXT,             -- known at least until this run is over; '': as long as the addressee is kept
  marked INTEGER,          -- 1: the sweeper looks at the run
  late   TEXT,             -- the run ended without reading it: what it was, JSON
  PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE INDEX delivered_marked ON delivered (at_us, run) WHERE marked IS NOT NULL;
CREATE INDEX delivered_late ON delivered (run) WHERE late IS NOT NULL;

-- The key of its delivery; empty where that is not known when it comes again: what commits and this world itself send, and what an earlier release accepted.
ALTER TABLE inbox ADD COLUMN key BLOB NOT NULL DEFAULT x'';
DROP INDEX inbox_run;
CREATE UNIQUE INDEX inbox_run ON inbox (run, delivery, key);

-- Hooks that are over, for as long as their run is kept.
CREATE TABLE ended_hooks (
  key        INTEGER PRIMARY KEY,
  ns         INTEGER NOT NULL DEFAULT 0,
  token      TEXT    NOT NULL,
  run        INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  metadata   BLOB,
  created_us INTEGER NOT NULL
);
CREATE INDEX ended_hooks_token ON ended_hooks (ns, token);
CREATE INDEX ended_hooks_run ON ended_hooks (run);
CREATE TRIGGER hooks_ended AFTER DELETE ON hooks BEGIN
  INSERT INTO ended_hooks (ns, token, run, id, metadata, created_us) VALUES (old.ns, old.token, old.run, old.id, old.metadata, old.created_us);
END;

PRAGMA user_version = 8;
