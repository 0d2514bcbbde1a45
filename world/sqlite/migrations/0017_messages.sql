-- Queues of messages that programs use with no run. Keys are never used twice: receipts name them.
CREATE TABLE queues (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT    NOT NULL UNIQUE,
  visibility_ns INTEGER NOT NULL,
  max_receives  INTEGER NOT NULL,
  paused        TEXT              -- JSON
);

-- ready_us says since when, or from when on, a message can be received. Null: it waits behind another of its group, or is dead.
CREATE TABLE messages (
  key      INTEGER PRIMARY KEY AUTOINCREMENT,
  queue    INTEGER NOT NULL,
  grp      TEXT,
  priority INTEGER NOT NULL,
  ready_us INTEGER,
  receives INTEGER NOT NULL DEFAULT 0,
  fence    INTEGER NOT NULL DEFAULT 0, -- as receives, and never less than it was
  held     INTEGER NOT NULL DEFAULT 0, -- 1: a receipt holds
  dead     INTEGER NOT NULL DEFAULT 0, -- 1: a dead letter
  sent_us  INTEGER NOT NULL,
  error    TEXT
);
CREATE INDEX messages_ready ON messages (queue, priority, ready_us) WHERE ready_us IS NOT NULL;
CREATE INDEX messages_group ON messages (queue, grp) WHERE grp IS NOT NULL AND NOT dead;
CREATE INDEX messages_queue ON messages (queue, dead);

CREATE TABLE message_bodies (
  key  INTEGER PRIMARY KEY,
  head TEXT    NOT NULL, -- JSON, see package layout
  body BLOB    NOT NULL,
  sum  INTEGER NOT NULL
);

CREATE TABLE dedupes (
  queue    INTEGER NOT NULL,
  id       TEXT    NOT NULL,
  message  TEXT    NOT NULL, -- its ID
  until_us INTEGER NOT NULL,
  PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX dedupes_until ON dedupes (until_us);

PRAGMA user_version = 17;
