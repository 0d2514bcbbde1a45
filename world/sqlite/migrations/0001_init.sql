-- The first schema. A run has an integer key that grows with time; its public ID is looked up once.
-- Times are integers in microseconds since 1970 (_us), durations in nanoseconds (_ns).

-- Names and idempotency keys are unique within a namespace; there is one so far.
CREATE TABLE runs (
  key         INTEGER PRIMARY KEY,
  ns          INTEGER NOT NULL DEFAULT 0,
  id          TEXT    NOT NULL,
  workflow    TEXT    NOT NULL,
  version     INTEGER NOT NULL,  -- of the birth; at the end, the one it ended with
  status      TEXT,              -- null while the run lives: the queue knows then
  idem        TEXT,              -- idempotency key
  priority    INTEGER NOT NULL,
  parent_run  TEXT,
  parent_step TEXT,
  detached    INTEGER,
  created_us  INTEGER NOT NULL,
  ended_us    INTEGER,
  retention_ns INTEGER NOT NULL, -- 0: for ever
  sweep_us    INTEGER,           -- over and kept until then
  output      BLOB,
  error       TEXT,
  attributes  TEXT,
  takes       INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX runs_id ON runs (ns, id);
CREATE UNIQUE INDEX runs_idem ON runs (ns, workflow, idem) WHERE idem IS NOT NULL;
CREATE INDEX runs_workflow ON runs (workflow, key);
CREATE INDEX runs_sweep ON runs (sweep_us) WHERE sweep_us IS NOT NULL;

-- A workflow and a version of it; version 0 where the birth left it open.
CREATE TABLE classes (
  key      INTEGER PRIMARY KEY,
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  UNIQUE (workflow, version)
);

-- A row while the run lives. ready_us says since when, or from when on, a worker may take it.
CREATE TABLE queue (
  run      INTEGER PRIMARY KEY,
  class    INTEGER NOT NULL,
  running  INTEGER NOT NULL,           -- 0: pending
  priority INTEGER NOT NULL,
  owner    INTEGER,                    -- workers.key
  take     INTEGER NOT NULL DEFAULT 0, -- grows with each take
  taken    INTEGER NOT NULL DEFAULT 0, -- number of the last event at that take; 0: the owner bore the run
  strikes  INTEGER NOT NULL DEFAULT 0, -- takes in a row whose worker died with no event committed
  wake_us  INTEGER,
  mail_us  INTEGER,                    -- arrival of the oldest mail, while nobody owns the run
  cancel   INTEGER NOT NULL DEFAULT 0, -- a cancel is among that mail
  paused   INTEGER NOT NULL DEFAULT 0,
  blocked  TEXT,
  full     INTEGER NOT NULL DEFAULT 0,
  waiting  TEXT,
  released BLOB,                       -- ID of the commit that released it last, where that has no events
  ready_us INTEGER AS (CASE
    WHEN owner IS NOT NULL OR paused THEN NULL
    WHEN blocked IS NOT NULL OR NOT running OR mail_us IS NULL THEN wake_us
    WHEN wake_us IS NULL OR mail_us < wake_us THEN mail_us
    ELSE wake_us END) VIRTUAL
);
CREATE INDEX queue_ready ON queue (class, priority, ready_us) WHERE ready_us IS NOT NULL;
CREATE INDEX queue_cancel ON queue (mail_us) WHERE cancel AND owner IS NULL;
CREATE INDEX queue_owner ON queue (owner) WHERE owner IS NOT NULL;

-- One row a commit, in the order of arrival.
CREATE TABLE log (
  run    INTEGER NOT NULL,
  seq    INTEGER NOT NULL, -- number of its first event
  n      INTEGER NOT NULL, -- how many events
  format INTEGER NOT NULL,
  head   TEXT    NOT NULL, -- JSON, see package world
  body   BLOB    NOT NULL
);
CREATE UNIQUE INDEX log_run ON log (run, seq);

CREATE TABLE inbox (
  row        INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice
  run        INTEGER NOT NULL,
  delivery   TEXT,
  arrived_us INTEGER NOT NULL,
  cancel     INTEGER NOT NULL, -- 1: it asks for the end of the run
  payload    INTEGER NOT NULL, -- 1: it counts toward the limit
  format     INTEGER NOT NULL,
  head       TEXT    NOT NULL,
  body       BLOB    NOT NULL
);
CREATE UNIQUE INDEX inbox_run ON inbox (run, delivery);

-- Delivery IDs of acts that were appended at once.
CREATE TABLE acts (
  run      INTEGER NOT NULL,
  delivery TEXT    NOT NULL,
  PRIMARY KEY (run, delivery)
) WITHOUT ROWID;

CREATE TABLE tasks (
  key        INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL,
  step       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  workflow   TEXT    NOT NULL,
  input      BLOB,
  options    BLOB,
  priority   INTEGER NOT NULL,
  visible_us INTEGER NOT NULL,
  worker     INTEGER,
  attempt    INTEGER NOT NULL DEFAULT 0,
  failures   INTEGER NOT NULL DEFAULT 0,
  abandoned  INTEGER NOT NULL DEFAULT 0,
  first_us   INTEGER,
  history    TEXT
);
CREATE UNIQUE INDEX tasks_run ON tasks (run, step);
CREATE INDEX tasks_ready ON tasks (name, priority, workflow, visible_us) WHERE worker IS NULL;
CREATE INDEX tasks_held ON tasks (worker) WHERE worker IS NOT NULL;

-- Active hooks.
CREATE TABLE hooks (
  key        INTEGER PRIMARY KEY,
  ns         INTEGER NOT NULL DEFAULT 0,
  token      TEXT    NOT NULL,
  run        INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  metadata   BLOB,
  created_us INTEGER NOT NULL
);
CREATE UNIQUE INDEX hooks_token ON hooks (ns, token);
CREATE INDEX hooks_run ON hooks (run);

-- Steps that wait for the end of another run: a parent's, and those of kind await.
CREATE TABLE awaits (
  target INTEGER NOT NULL,
  waiter INTEGER NOT NULL,
  step   TEXT    NOT NULL,
  PRIMARY KEY (target, waiter, step)
) WITHOUT ROWID;
CREATE INDEX awaits_waiter ON awaits (waiter);

-- Streams.
CREATE TABLE chunks (
  run     INTEGER NOT NULL,
  stream  TEXT    NOT NULL,
  idx     INTEGER NOT NULL,
  step    TEXT    NOT NULL,
  attempt INTEGER NOT NULL,
  data    BLOB    NOT NULL,
  PRIMARY KEY (run, stream, idx)
) WITHOUT ROWID;

-- Who is alive. There are no lanes: BEGIN IMMEDIATE lets one transaction write at a time, so a commit that finds its worker's key still the
-- owner of the run cannot be overtaken by that worker's death.
CREATE TABLE workers (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  id        TEXT    NOT NULL UNIQUE,
  name      TEXT    NOT NULL,
  build     TEXT    NOT NULL,
  classes   TEXT    NOT NULL,
  steps     TEXT    NOT NULL,
  lease_ns  INTEGER NOT NULL,
  joined_us INTEGER NOT NULL,
  until_us  INTEGER NOT NULL
);

-- How many runs have each status, and how many of those that are not over are 'paused' or 'blocked': nobody counts sleeping runs one by one.
CREATE TABLE totals (
  workflow TEXT    NOT NULL,
  status   TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  PRIMARY KEY (workflow, status)
) WITHOUT ROWID;

-- The time part of the IDs of a run's steps, waits, hooks and attributes.
CREATE VIEW births AS
SELECT key, substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 45) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 40) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 35) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 30) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 25) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 20) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 15) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 10) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 5) & 31), 1) ||
  substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((ms >> 0) & 31), 1) AS stamp
FROM (SELECT key, created_us / 1000 AS ms FROM runs);

-- The log for SQL readers: an event a row.
CREATE VIEW events AS
SELECT r.id AS run, l.seq + e.key AS seq, e.value ->> 'y' AS type,
       coalesce(l.head ->> 't', r.created_us + coalesce(l.head ->> 's', 0)) + coalesce(e.value ->> 't', 0) AS time_us,
       coalesce(e.value ->> 'id', substr(e.value ->> 'y', 1, 4) || '_' || b.stamp || (e.value ->> 'i')) AS correlation,
       e.value ->> 'k' AS kind, e.value ->> 'n' AS name, e.value ->> 'p' AS path, e.value ->> 'c' AS occurrence,
       e.value ->> 'a' AS attempt,
       CASE WHEN e.value ->> 'o' IS NOT NULL
            THEN CAST(substr(l.body, 1 + (e.value ->> 'o'), e.value ->> 'l') AS TEXT) END AS payload,
       e.value -> 'e' AS error, l.head ->> 'b' AS build, e.value AS head
FROM log l JOIN runs r ON r.key = l.run JOIN births b ON b.key = l.run, json_each(l.head, '$.e') e;

PRAGMA application_id = 0x53574c31;
PRAGMA user_version = 1;
