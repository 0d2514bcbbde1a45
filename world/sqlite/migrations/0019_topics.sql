-- What is published, once. Nothing changes it. Keys are never used twice.
CREATE TABLE publications (
  key    INTEGER PRIMARY KEY AUTOINCREMENT,
  topic  TEXT    NOT NULL,
  source TEXT,
  dedupe TEXT,
  at_us  INTEGER NOT NULL,
  due_us INTEGER NOT NULL, -- at_us, or when its delay is over
  head   TEXT    NOT NULL, -- JSON, see package layout
  body   BLOB    NOT NULL,
  sum    INTEGER NOT NULL
);
CREATE UNIQUE INDEX publications_dedupe ON publications (topic, dedupe) WHERE dedupe IS NOT NULL;

-- What was not spread yet. due_us is 0 where it is due at once, and the largest number where it was set aside.
CREATE TABLE due (
  publication INTEGER PRIMARY KEY,
  due_us      INTEGER NOT NULL,
  error       TEXT
);
CREATE INDEX due_due ON due (due_us);

CREATE TABLE subscriptions (
  name TEXT    NOT NULL PRIMARY KEY,
  said TEXT    NOT NULL, -- JSON
  sum  INTEGER NOT NULL
) WITHOUT ROWID;

-- One row: what subscriptions and the cut come to. It grows with each change of either.
CREATE TABLE spreading (
  revision INTEGER NOT NULL,
  cut      TEXT -- JSON: how far a publication has gone out that is not done
);
INSERT INTO spreading (revision) VALUES (1);

PRAGMA user_version = 19;
