-- The schema of a file. A run has an integer key that grows with time; its public ID is looked up once.
-- Times are integers in microseconds since 1970 (_us), durations in nanoseconds (_ns). sum is the checksum of a row: see
-- package layout.

-- Names and idempotency keys are unique within a namespace; there is one so far.
CREATE TABLE runs (
  key          INTEGER PRIMARY KEY,
  ns           INTEGER NOT NULL DEFAULT 0,
  id           TEXT    NOT NULL,
  workflow     TEXT    NOT NULL,
  version      INTEGER NOT NULL,           -- of the birth; at the end, the one it ended with
  status       TEXT,                       -- null while the run lives: the queue knows then
  idem         TEXT,                       -- idempotency key
  priority     INTEGER NOT NULL,
  parent_run   TEXT,
  parent_step  TEXT,
  detached     INTEGER,
  origin_run   TEXT,                       -- of a fork, restart or retry: what it was made of
  created_us   INTEGER NOT NULL,
  ended_us     INTEGER,
  retention_ns INTEGER NOT NULL,           -- 0: for ever
  sweep_us     INTEGER,                    -- over and kept until then
  takes        INTEGER NOT NULL DEFAULT 0,
  segment      INTEGER NOT NULL DEFAULT 0, -- number of the run_continued that began the newest; 0: the first
  trim         INTEGER NOT NULL DEFAULT 0, -- number of the one before which nothing is wanted; 0: none
  sealed       TEXT,                       -- ID of its encryption key; null: plain
  sum          INTEGER,                    -- of what never changes
  end_sum      INTEGER,                    -- of what its end wrote
  output_apart TEXT,                       -- the value that the output refers to; null: it is the value
  attributes   TEXT,                       -- JSON
  error        TEXT,
  output       BLOB
);
CREATE UNIQUE INDEX runs_id ON runs (ns, id);
CREATE UNIQUE INDEX runs_idem ON runs (ns, workflow, idem) WHERE idem IS NOT NULL;
CREATE INDEX runs_workflow ON runs (workflow, key);
-- Runs that did not complete: of most files a small part.
CREATE INDEX runs_failed ON runs (key, status) WHERE status IN ('failed', 'cancelled');
CREATE INDEX runs_sweep ON runs (sweep_us) WHERE sweep_us IS NOT NULL;
CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_origin ON runs (origin_run) WHERE origin_run IS NOT NULL;

-- A workflow and a version of it; version 0 where the birth left it open.
CREATE TABLE classes (
  key      INTEGER PRIMARY KEY,
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  UNIQUE (workflow, version)
);

-- A row while the run lives. ready_us says since when, or from when on, a worker may take it.
-- A run that is paused in its log, and to which a run_resumed was sent that nobody has appended, has paused 0 and resumed 1.
CREATE TABLE queue (
  run       INTEGER PRIMARY KEY,
  class     INTEGER NOT NULL,
  running   INTEGER NOT NULL,           -- 0: pending
  priority  INTEGER NOT NULL,
  owner     INTEGER,                    -- workers.key
  take      INTEGER NOT NULL DEFAULT 0, -- grows with each take
  taken     INTEGER NOT NULL DEFAULT 0, -- number of the last event at that take; 0: the owner bore the run
  strikes   INTEGER NOT NULL DEFAULT 0, -- takes in a row whose worker died with no event committed
  wake_us   INTEGER,
  mail_us   INTEGER,                    -- arrival of the oldest mail, while nobody owns the run
  cancel    INTEGER NOT NULL DEFAULT 0, -- a cancel is among that mail
  paused    INTEGER NOT NULL DEFAULT 0,
  resumed   INTEGER NOT NULL DEFAULT 0,
  blocked   TEXT,
  full      INTEGER NOT NULL DEFAULT 0,
  waiting   TEXT,
  released  BLOB,                       -- ID of the commit that released it last, where that has no events
  places    TEXT,                       -- JSON of the limit keys that it needs, in the order in which it takes them; null: none
  keeps     INTEGER NOT NULL DEFAULT 0, -- how many of the first places it keeps until its end
  has       INTEGER NOT NULL DEFAULT 0, -- how many of the first places it has
  rates     INTEGER NOT NULL DEFAULT 0, -- how many of the last are of rates: it needs them until it is claimed
  parked_us INTEGER,                    -- it stands in the line of the next place, since then
  held      INTEGER NOT NULL DEFAULT 0, -- it is not to begin
  single    TEXT,                       -- of a singleton, the key; null: it is none, or another has taken its place
  behind    TEXT,                       -- the run in whose place a singleton is, for whose end it waits
  ready_us  INTEGER AS (CASE
    WHEN owner IS NOT NULL OR paused OR parked_us IS NOT NULL OR held THEN NULL
    WHEN blocked IS NOT NULL OR NOT running OR mail_us IS NULL THEN wake_us
    WHEN wake_us IS NULL OR mail_us < wake_us THEN mail_us
    ELSE wake_us END) VIRTUAL
);
CREATE INDEX queue_ready ON queue (class, priority, ready_us) WHERE ready_us IS NOT NULL;
CREATE INDEX queue_owner ON queue (owner) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX queue_single ON queue (single) WHERE single IS NOT NULL;
-- Runs that are to be cancelled are taken by priority, and each since its cancel came, if nothing else made it due before.
CREATE INDEX queue_cancel ON queue (priority, mail_us) WHERE cancel AND owner IS NULL;
-- Runs that are blocked or paused: there are few beside those that sleep.
CREATE INDEX queue_stopped ON queue (run) WHERE blocked IS NOT NULL OR paused OR resumed;
-- Runs that nobody owns, and that hold places of limits or stand in line, by class: of one that no worker has they give
-- them back. The condition is written so that no other look takes this index, which may be far from small, for another.
CREATE INDEX queue_placed ON queue (class, ready_us) WHERE owner IS NULL AND has + (parked_us IS NOT NULL) > 0;

-- One row a commit, in the order of arrival.
CREATE TABLE log (
  run    INTEGER NOT NULL,
  seq    INTEGER NOT NULL, -- number of its first event
  n      INTEGER NOT NULL, -- how many events
  format INTEGER NOT NULL,
  sum    INTEGER,
  head   TEXT    NOT NULL, -- JSON, see package layout
  body   BLOB    NOT NULL
);
CREATE UNIQUE INDEX log_run ON log (run, seq);

CREATE TABLE inbox (
  row        INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice
  run        INTEGER NOT NULL,
  delivery   TEXT,
  key        BLOB    NOT NULL DEFAULT x'', -- of its delivery; empty: a commit, or this world itself, sent it
  arrived_us INTEGER NOT NULL,
  cancel     INTEGER NOT NULL, -- 1: it asks for the end of the run
  payload    INTEGER NOT NULL, -- 1: it counts toward the limit
  format     INTEGER NOT NULL,
  sum        INTEGER,
  head       TEXT    NOT NULL,
  body       BLOB    NOT NULL
);
CREATE UNIQUE INDEX inbox_run ON inbox (run, delivery, key);
CREATE INDEX inbox_cancel ON inbox (run, arrived_us) WHERE cancel;

-- What was delivered under an ID is known when it comes again: see Delivery.Key of package world.
CREATE TABLE delivered (
  run      INTEGER NOT NULL,
  key      BLOB    NOT NULL,
  at_us    INTEGER NOT NULL,
  print    BLOB,    -- fingerprint of the payload
  sender   TEXT,    -- known at least until this run is over; '': as long as the addressee is kept
  marked   INTEGER, -- 1: the sweeper looks at the run
  late     TEXT,    -- the run ended without reading it: what it was, JSON
  workflow TEXT,    -- of a start whose input was given to the run
  idem     TEXT,    -- idempotency key of that start
  PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE INDEX delivered_marked ON delivered (at_us, run) WHERE marked IS NOT NULL;
CREATE INDEX delivered_late ON delivered (run) WHERE late IS NOT NULL;
CREATE UNIQUE INDEX delivered_idem ON delivered (workflow, idem) WHERE idem IS NOT NULL;

-- Attempts of registered steps. One whose attempts need places of limits has them in its row, as a run has them in its row
-- of the queue; it keeps nothing between attempts. While it stands in line (parked_us) visible_us is far away.
CREATE TABLE tasks (
  key        INTEGER PRIMARY KEY,
  run        INTEGER NOT NULL,
  step       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  workflow   TEXT    NOT NULL,
  priority   INTEGER NOT NULL,
  visible_us INTEGER NOT NULL,
  worker     INTEGER,
  attempt    INTEGER NOT NULL DEFAULT 0,
  failures   INTEGER NOT NULL DEFAULT 0,
  abandoned  INTEGER NOT NULL DEFAULT 0,
  first_us   INTEGER,
  places     TEXT,
  has        INTEGER NOT NULL DEFAULT 0,
  rates      INTEGER NOT NULL DEFAULT 0,
  parked_us  INTEGER,
  asked_us   INTEGER,                    -- when its step was asked for, and so where it stands in its first line
  sum        INTEGER,                    -- of what never changes
  history    TEXT,
  options    BLOB,
  input      BLOB
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

-- Steps that wait for the end of another run: a parent's, and those of kind await.
CREATE TABLE awaits (
  target INTEGER NOT NULL,
  waiter INTEGER NOT NULL,
  step   TEXT    NOT NULL,
  PRIMARY KEY (target, waiter, step)
) WITHOUT ROWID;
CREATE INDEX awaits_waiter ON awaits (waiter);

-- Streams: a row for each batch of chunks, of one writer.
CREATE TABLE chunks (
  run     INTEGER NOT NULL,
  stream  TEXT    NOT NULL,
  idx     INTEGER NOT NULL,           -- number of its first chunk
  n       INTEGER NOT NULL,           -- how many numbers; fewer than in data, where the last were made void
  kind    TEXT    NOT NULL,           -- 'data', or a mark: 'reset', 'close', 'error'
  step    TEXT    NOT NULL,           -- '': the workflow's code
  attempt INTEGER NOT NULL,
  pos     INTEGER NOT NULL,           -- how many that attempt had written to the stream before; tells a write that is repeated
  at_us   INTEGER NOT NULL,
  segment INTEGER NOT NULL DEFAULT 0, -- number of the run_continued that began its segment; 0: the first
  sum     INTEGER,
  data    BLOB    NOT NULL            -- see package layout
);
CREATE UNIQUE INDEX chunks_run ON chunks (run, stream, idx);

-- What the sweeper is to delete. Rows are added by those who continue runs and deleted by the sweeper alone.
CREATE TABLE trims (
  run    INTEGER NOT NULL,
  before INTEGER NOT NULL, -- number of a run_continued
  PRIMARY KEY (run, before)
) WITHOUT ROWID;

-- Runs by their attributes. A row for each that a run has, so a run without any has none. The value is found by a short
-- key, see world.AttributeKey.
CREATE TABLE attributes (
  name  TEXT    NOT NULL,
  value TEXT    NOT NULL,
  run   INTEGER NOT NULL,
  PRIMARY KEY (name, value, run)
) WITHOUT ROWID;

-- Values that are too large for a log, in pieces, and which runs hold them. A run may hold one before it is there; only
-- what a run holds may its log name.
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

-- What a run holds goes with it, and a value with the last that holds it. So the deletion of runs is no statement more.
CREATE TRIGGER runs_apart AFTER DELETE ON runs BEGIN
  DELETE FROM apart WHERE run = OLD.id;
END;
CREATE TRIGGER apart_left AFTER DELETE ON apart WHEN NOT EXISTS (SELECT 1 FROM apart WHERE value = OLD.value) BEGIN
  DELETE FROM apart_pieces WHERE value = OLD.value;
END;

-- Who is alive. There are no lanes: BEGIN IMMEDIATE lets one transaction write at a time, so a commit that finds its
-- worker's key still the owner of the run cannot be overtaken by that worker's death.
CREATE TABLE workers (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  id        TEXT    NOT NULL UNIQUE,
  name      TEXT    NOT NULL,
  build     TEXT    NOT NULL,
  classes   TEXT    NOT NULL,
  steps     TEXT    NOT NULL,
  lease_ns  INTEGER NOT NULL,
  joined_us INTEGER NOT NULL,
  until_us  INTEGER NOT NULL,
  remote    INTEGER NOT NULL DEFAULT 0 -- 1: it lives behind a server; the end of the process that joined it is not its death
);

-- How many runs have each status, and how many of those that are not over are 'paused' or 'blocked': nobody counts sleeping
-- runs one by one.
CREATE TABLE totals (
  workflow TEXT    NOT NULL,
  status   TEXT    NOT NULL,
  n        INTEGER NOT NULL,
  PRIMARY KEY (workflow, status)
) WITHOUT ROWID;

-- Which encryption keys their IDs stand for: another key under the same ID is refused where it enters.
CREATE TABLE keys (
  id    TEXT PRIMARY KEY,
  print BLOB NOT NULL -- the key's fingerprint
) WITHOUT ROWID;

-- What the definitions of workflows say of their runs, for those who start them and have not the code.
CREATE TABLE definitions (
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  says     TEXT    NOT NULL,            -- JSON
  schemas  TEXT    NOT NULL DEFAULT '', -- JSON of what its runs take and make; '': nobody has said it
  worker   TEXT    NOT NULL DEFAULT '', -- ID of who has said it: where it is gone, one that lives says it again; '': not known
  PRIMARY KEY (workflow, version)
) WITHOUT ROWID;

-- What operators set for all programs of the file. retention: the most that ended runs are kept, in ns; -1: for ever.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

-- What processes have counted, for who tells the metrics of all.
CREATE TABLE metrics (
  process  TEXT    PRIMARY KEY,
  revision INTEGER NOT NULL,
  put_at   INTEGER NOT NULL, -- µs since 1970
  says     TEXT    NOT NULL  -- JSON; empty: another process has added it to its own
) WITHOUT ROWID;

-- Queues of messages that programs use with no run. Keys are never used twice: receipts name them.
CREATE TABLE queues (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,
  name          TEXT    NOT NULL UNIQUE,
  visibility_ns INTEGER NOT NULL,
  max_receives  INTEGER NOT NULL,
  paused        TEXT,   -- JSON
  limits        TEXT    -- as they are declared: JSON; null: none were ever
);

-- ready_us says since when, or from when on, a message can be received. Null: it waits behind another of its group, stands
-- in line, or is dead. The places that each receive needs are in its row, as a task has them; it keeps nothing between
-- receives.
CREATE TABLE messages (
  key       INTEGER PRIMARY KEY AUTOINCREMENT,
  queue     INTEGER NOT NULL,
  grp       TEXT,
  priority  INTEGER NOT NULL,
  ready_us  INTEGER,
  receives  INTEGER NOT NULL DEFAULT 0,
  fence     INTEGER NOT NULL DEFAULT 0, -- as receives, and never less than it was
  held      INTEGER NOT NULL DEFAULT 0, -- 1: a receipt holds
  dead      INTEGER NOT NULL DEFAULT 0, -- 1: a dead letter
  sent_us   INTEGER NOT NULL,
  places    TEXT,
  has       INTEGER NOT NULL DEFAULT 0,
  rates     INTEGER NOT NULL DEFAULT 0,
  parked_us INTEGER,
  error     TEXT
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

-- Waits of runs that listen to what is published.
CREATE TABLE listens (
  run     INTEGER NOT NULL,
  wait    TEXT    NOT NULL,
  shape   TEXT    NOT NULL, -- JSON: pattern, paths of the match, key
  hash    INTEGER NOT NULL,
  from_us INTEGER NOT NULL, -- what went out before is none of its, unless it was published after last
  last    INTEGER NOT NULL, -- the last publication when it began
  back    INTEGER NOT NULL, -- 1: it is to get what went out since from_us, and has not yet
  match   TEXT,             -- of a wait that looks back, as its event has it: what is in arrays is in no hash; null: it has looked back
  PRIMARY KEY (run, wait)
) WITHOUT ROWID;
CREATE INDEX listens_hash ON listens (shape, hash, run, wait, from_us, last);
CREATE INDEX listens_back ON listens (run, wait) WHERE back = 1;

-- Schedules: when runs start by themselves.
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

-- Limits: places of a key, and rates, of which so many begin in a period. A few.
CREATE TABLE limits (
  name      TEXT    NOT NULL PRIMARY KEY,
  said      INTEGER NOT NULL,           -- as code says
  number    INTEGER,                    -- as an operator says, and then that holds
  until_end INTEGER NOT NULL,
  per_ns    INTEGER NOT NULL DEFAULT 0, -- of a rate: the period
  burst     INTEGER NOT NULL DEFAULT 0, -- of a rate: how many may begin at one moment
  refuse    INTEGER NOT NULL DEFAULT 0, -- of a rate: the others are refused
  runs      INTEGER NOT NULL DEFAULT 0, -- whether runs, steps and messages are under it
  steps     INTEGER NOT NULL DEFAULT 0,
  messages  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- One for each key that a run needs which is not over.
CREATE TABLE limit_keys (
  key     INTEGER PRIMARY KEY,        -- made of name and text
  name    TEXT    NOT NULL,
  text    TEXT    NOT NULL,
  used    INTEGER NOT NULL,           -- places that are held
  live    INTEGER NOT NULL,           -- runs that need it
  turn_ns INTEGER NOT NULL DEFAULT 0, -- of a rate: the next has its turn
  late    INTEGER NOT NULL DEFAULT 0, -- of a rate: somebody has stood in line since one was let in
  due_us  INTEGER                     -- of a rate: when it is to be looked at again
);
CREATE INDEX limit_keys_name ON limit_keys (name, text);
CREATE INDEX limit_keys_due ON limit_keys (due_us) WHERE due_us IS NOT NULL;

-- Who waits for a place, in the order in which they get it. run is the key of a run in the queue; below -2^62, 3 * 2^61 less
-- than the key of a message; else, below 0, 2^62 less than the key of a task.
CREATE TABLE limit_line (
  key      INTEGER NOT NULL,
  urgency  INTEGER NOT NULL, -- 3 less the priority
  place_us INTEGER NOT NULL,
  run      INTEGER NOT NULL,
  PRIMARY KEY (key, urgency, place_us, run)
) WITHOUT ROWID;

-- Weights of keys: one has so many times the places that its limit says. As code says them. A key that is not here has 1.
CREATE TABLE limit_weights (
  name   TEXT    NOT NULL,
  text   TEXT    NOT NULL,
  weight INTEGER NOT NULL,
  PRIMARY KEY (name, text)
) WITHOUT ROWID;

-- Workflows that are held: none of their runs begins.
CREATE TABLE holds (
  workflow   TEXT    NOT NULL PRIMARY KEY,
  held_by    TEXT    NOT NULL,
  note       TEXT    NOT NULL,
  since_us   INTEGER NOT NULL,
  state      INTEGER NOT NULL, -- 0: not all runs that have not begun are marked yet; 1: all are; 2: it is released, and some are marked still
  changed_us INTEGER NOT NULL  -- when somebody last went on with it
) WITHOUT ROWID;

-- Runs that are to begin by a time, and else are ended. A row that is of a run which has begun, or is over, goes when its
-- time comes.
CREATE TABLE lapses (
  due_us INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  ttl    INTEGER NOT NULL, -- it begins within so long, in ns
  PRIMARY KEY (due_us, run)
) WITHOUT ROWID;

-- Runs that gather the inputs of further starts of their workflow and key (name), until they begin. A row whose run is not
-- open any more, as the queue says, stands for nothing, and goes when another takes its place, or behind until_us.
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

-- It marks a file as Stepwell's: "SWL1".
PRAGMA application_id = 0x53574c31;
