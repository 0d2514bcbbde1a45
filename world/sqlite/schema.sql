-- What the migrations leave in an empty file. TestNewFileIsAsMigrated writes it, with -update, and holds it against them.

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
, segment INTEGER NOT NULL DEFAULT 0, trim    INTEGER NOT NULL DEFAULT 0, sealed TEXT, origin_run TEXT, sum     INTEGER, end_sum INTEGER, output_apart TEXT);

CREATE UNIQUE INDEX runs_id ON runs (ns, id);

CREATE UNIQUE INDEX runs_idem ON runs (ns, workflow, idem) WHERE idem IS NOT NULL;

CREATE INDEX runs_workflow ON runs (workflow, key);

CREATE INDEX runs_sweep ON runs (sweep_us) WHERE sweep_us IS NOT NULL;

CREATE TABLE classes (
  key      INTEGER PRIMARY KEY,
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  UNIQUE (workflow, version)
);

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
  resumed INTEGER NOT NULL DEFAULT 0, places TEXT, keeps INTEGER NOT NULL DEFAULT 0, has INTEGER NOT NULL DEFAULT 0, parked_us INTEGER, held INTEGER NOT NULL DEFAULT 0, ready_us INTEGER AS (CASE
  WHEN owner IS NOT NULL OR paused OR parked_us IS NOT NULL OR held THEN NULL
  WHEN blocked IS NOT NULL OR NOT running OR mail_us IS NULL THEN wake_us
  WHEN wake_us IS NULL OR mail_us < wake_us THEN mail_us
  ELSE wake_us END) VIRTUAL, rates INTEGER NOT NULL DEFAULT 0, single TEXT, behind TEXT);

CREATE INDEX queue_owner ON queue (owner) WHERE owner IS NOT NULL;

CREATE TABLE log (
  run    INTEGER NOT NULL,
  seq    INTEGER NOT NULL, -- number of its first event
  n      INTEGER NOT NULL, -- how many events
  format INTEGER NOT NULL,
  head   TEXT    NOT NULL, -- JSON, see package world
  body   BLOB    NOT NULL
, sum INTEGER);

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
, key BLOB NOT NULL DEFAULT x'', sum INTEGER);

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
, sum INTEGER, places TEXT, has INTEGER NOT NULL DEFAULT 0, parked_us INTEGER, rates INTEGER NOT NULL DEFAULT 0, asked_us INTEGER);

CREATE UNIQUE INDEX tasks_run ON tasks (run, step);

CREATE INDEX tasks_ready ON tasks (name, priority, workflow, visible_us) WHERE worker IS NULL;

CREATE INDEX tasks_held ON tasks (worker) WHERE worker IS NOT NULL;

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

CREATE TABLE awaits (
  target INTEGER NOT NULL,
  waiter INTEGER NOT NULL,
  step   TEXT    NOT NULL,
  PRIMARY KEY (target, waiter, step)
) WITHOUT ROWID;

CREATE INDEX awaits_waiter ON awaits (waiter);

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
, remote INTEGER NOT NULL DEFAULT 0);

CREATE TABLE totals (
  workflow TEXT    NOT NULL,
  status   TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  PRIMARY KEY (workflow, status)
) WITHOUT ROWID;

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

CREATE TABLE chunks (
  run     INTEGER NOT NULL,
  stream  TEXT    NOT NULL,
  idx     INTEGER NOT NULL, -- number of its first chunk
  n       INTEGER NOT NULL, -- how many numbers; fewer than in data, where the last were made void
  kind    TEXT    NOT NULL, -- 'data', or a mark: 'reset', 'close', 'error'
  step    TEXT    NOT NULL, -- '': the workflow's code
  attempt INTEGER NOT NULL,
  pos     INTEGER NOT NULL, -- how many that attempt had written to the stream before; tells a write that is repeated
  at_us   INTEGER NOT NULL,
  data    BLOB    NOT NULL  -- see package world
, segment INTEGER NOT NULL DEFAULT 0, sum INTEGER);

CREATE UNIQUE INDEX chunks_run ON chunks (run, stream, idx);

CREATE TABLE attributes (
  name  TEXT    NOT NULL,
  value TEXT    NOT NULL,
  run   INTEGER NOT NULL,
  PRIMARY KEY (name, value, run)
) WITHOUT ROWID;

CREATE TABLE trims (
  run    INTEGER NOT NULL,
  before INTEGER NOT NULL, -- number of a run_continued
  PRIMARY KEY (run, before)
) WITHOUT ROWID;

CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;

CREATE INDEX runs_origin ON runs (origin_run) WHERE origin_run IS NOT NULL;

CREATE TABLE delivered (
  run    INTEGER NOT NULL,
  key    BLOB    NOT NULL,
  at_us  INTEGER NOT NULL,
  print  BLOB,             -- fingerprint of the payload
  sender TEXT,             -- known at least until this run is over; '': as long as the addressee is kept
  marked INTEGER,          -- 1: the sweeper looks at the run
  late   TEXT, workflow TEXT, idem TEXT,             -- the run ended without reading it: what it was, JSON
  PRIMARY KEY (run, key)
) WITHOUT ROWID;

CREATE INDEX delivered_marked ON delivered (at_us, run) WHERE marked IS NOT NULL;

CREATE INDEX delivered_late ON delivered (run) WHERE late IS NOT NULL;

CREATE UNIQUE INDEX inbox_run ON inbox (run, delivery, key);

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

CREATE TABLE keys (
  id    TEXT PRIMARY KEY,
  print BLOB NOT NULL -- the key's fingerprint
) WITHOUT ROWID;

CREATE INDEX queue_cancel ON queue (priority, mail_us) WHERE cancel AND owner IS NULL;

CREATE INDEX inbox_cancel ON inbox (run, arrived_us) WHERE cancel;

CREATE INDEX queue_stopped ON queue (run) WHERE blocked IS NOT NULL OR paused OR resumed;

CREATE TABLE definitions (
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  says     TEXT    NOT NULL, schemas TEXT NOT NULL DEFAULT '', worker TEXT NOT NULL DEFAULT '', -- JSON
  PRIMARY KEY (workflow, version)
) WITHOUT ROWID;

CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE metrics (
  process  TEXT    PRIMARY KEY,
  revision INTEGER NOT NULL,
  put_at   INTEGER NOT NULL, -- µs since 1970
  says     TEXT    NOT NULL  -- JSON; empty: another process has added it to its own
) WITHOUT ROWID;

CREATE TABLE queues (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT    NOT NULL UNIQUE,
  visibility_ns INTEGER NOT NULL,
  max_receives  INTEGER NOT NULL,
  paused        TEXT              -- JSON
, limits TEXT);

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
, places TEXT, has INTEGER NOT NULL DEFAULT 0, parked_us INTEGER, rates INTEGER NOT NULL DEFAULT 0);

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

CREATE TABLE spreading (
  revision INTEGER NOT NULL,
  cut      TEXT -- JSON: how far a publication has gone out that is not done
);

CREATE TABLE listens (
  run     INTEGER NOT NULL,
  wait    TEXT    NOT NULL,
  shape   TEXT    NOT NULL, -- JSON: pattern, paths of the match, key
  hash    INTEGER NOT NULL,
  back_us INTEGER, match TEXT,          -- it gets what went out since then, too, and has not yet; null: no
  PRIMARY KEY (run, wait)
) WITHOUT ROWID;

CREATE INDEX listens_hash ON listens (shape, hash, run, wait);

CREATE INDEX listens_back ON listens (run, wait) WHERE back_us IS NOT NULL;

CREATE TABLE apart (
  run   TEXT    NOT NULL,
  value TEXT    NOT NULL,
  at_us INTEGER,          -- when it was written; null: an event names it
  key   TEXT,             -- ID of the key that the value is encrypted with; null: it is plain
  PRIMARY KEY (run, value)
) WITHOUT ROWID;

CREATE INDEX apart_value ON apart (value);

CREATE INDEX apart_at ON apart (at_us) WHERE at_us IS NOT NULL;

CREATE TABLE apart_pieces (
  value  TEXT    NOT NULL,
  number INTEGER NOT NULL,
  data   BLOB    NOT NULL,
  sum    INTEGER NOT NULL,
  PRIMARY KEY (value, number)
);

CREATE TRIGGER runs_apart AFTER DELETE ON runs BEGIN
  DELETE FROM apart WHERE run = OLD.id;
END;

CREATE TRIGGER apart_left AFTER DELETE ON apart WHEN NOT EXISTS (SELECT 1 FROM apart WHERE value = OLD.value) BEGIN
  DELETE FROM apart_pieces WHERE value = OLD.value;
END;

CREATE TABLE schedules (
  name   TEXT    NOT NULL PRIMARY KEY,
  said   TEXT    NOT NULL, -- JSON, see package layout
  sum    INTEGER NOT NULL,
  change INTEGER NOT NULL, -- number of the last change
  code   TEXT    NOT NULL, -- the set whose code it needs; '': none
  due_us INTEGER,          -- when to look at it again; null: never
  of_set TEXT              -- of a program that declares it; null: none
);

CREATE INDEX schedules_due ON schedules (code, due_us) WHERE due_us IS NOT NULL;

CREATE INDEX schedules_set ON schedules (of_set, name) WHERE of_set IS NOT NULL;

CREATE TABLE limits (
  name      TEXT    NOT NULL PRIMARY KEY,
  said      INTEGER NOT NULL,
  number    INTEGER,
  until_end INTEGER NOT NULL
, per_ns INTEGER NOT NULL DEFAULT 0, burst INTEGER NOT NULL DEFAULT 0, refuse INTEGER NOT NULL DEFAULT 0, runs INTEGER NOT NULL DEFAULT 0, steps INTEGER NOT NULL DEFAULT 0, messages INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;

CREATE TABLE limit_keys (
  key  INTEGER PRIMARY KEY, -- made of name and text
  name TEXT    NOT NULL,
  text TEXT    NOT NULL,
  used INTEGER NOT NULL,
  live INTEGER NOT NULL
, turn_ns INTEGER NOT NULL DEFAULT 0, late INTEGER NOT NULL DEFAULT 0, due_us INTEGER);

CREATE INDEX limit_keys_name ON limit_keys (name, text);

CREATE TABLE limit_line (
  key      INTEGER NOT NULL,
  urgency  INTEGER NOT NULL, -- 3 less the priority
  place_us INTEGER NOT NULL,
  run      INTEGER NOT NULL,
  PRIMARY KEY (key, urgency, place_us, run)
) WITHOUT ROWID;

CREATE TABLE holds (
  workflow   TEXT    NOT NULL PRIMARY KEY,
  held_by    TEXT    NOT NULL,
  note       TEXT    NOT NULL,
  since_us   INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  changed_us INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX queue_ready ON queue (class, priority, ready_us) WHERE ready_us IS NOT NULL;

CREATE TABLE lapses (
  due_us INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  ttl    INTEGER NOT NULL,
  PRIMARY KEY (due_us, run)
) WITHOUT ROWID;

CREATE INDEX limit_keys_due ON limit_keys (due_us) WHERE due_us IS NOT NULL;

CREATE UNIQUE INDEX queue_single ON queue (single) WHERE single IS NOT NULL;

CREATE TABLE buckets (
  workflow TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  run      INTEGER NOT NULL,
  quiet_ns INTEGER NOT NULL, -- it begins when no input has come for so long; 0: a batch
  number   INTEGER NOT NULL, -- of a batch: it begins with so many
  until_us INTEGER NOT NULL, -- it begins then at the latest
  items    INTEGER NOT NULL, -- inputs that it has
  bytes    INTEGER NOT NULL, -- of those
  PRIMARY KEY (workflow, name)
) WITHOUT ROWID;

CREATE UNIQUE INDEX buckets_run ON buckets (run);

CREATE INDEX buckets_until ON buckets (until_us);

CREATE UNIQUE INDEX delivered_idem ON delivered (workflow, idem) WHERE idem IS NOT NULL;

CREATE TABLE limit_weights (
  name   TEXT    NOT NULL,
  text   TEXT    NOT NULL,
  weight INTEGER NOT NULL,
  PRIMARY KEY (name, text)
) WITHOUT ROWID;

CREATE INDEX queue_placed ON queue (class, ready_us) WHERE owner IS NULL AND has + (parked_us IS NOT NULL) > 0;

INSERT INTO spreading VALUES (1, NULL);

PRAGMA application_id = 1398230065;

PRAGMA user_version = 32;
