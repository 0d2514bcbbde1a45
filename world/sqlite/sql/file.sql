-- The file itself: transactions, the schema, syncs and checkpoints.

-- name: begin
-- Takes the write lock; waits for other processes as long as the busy timeout.
BEGIN IMMEDIATE

-- name: commit
-- Makes the group durable.
COMMIT

-- name: rollback
-- Gives the group up.
ROLLBACK

-- name: data_version
-- Changes when another connection has written.
PRAGMA data_version

-- name: schema_version
-- The version of the schema, and the age of the file above it.
PRAGMA user_version

-- name: application_id
-- Whose file it is.
PRAGMA application_id

-- name: count_tables
-- Whether the file is empty.
SELECT count(*) FROM sqlite_schema

-- name: journal_wal
-- Readers do not wait for the writer; kept in the file.
PRAGMA journal_mode = WAL

-- name: sync_full
-- The commits that follow wait for the disk.
PRAGMA synchronous = FULL

-- name: sync_normal
-- The commits that follow do not; checkpoints do.
PRAGMA synchronous = NORMAL

-- name: checkpoint_passive
-- Copies the write-ahead log into the file as far as readers allow, and waits for nobody.
PRAGMA wal_checkpoint(PASSIVE)

-- name: checkpoint_truncate
-- The same, and cuts the log's file.
PRAGMA wal_checkpoint(TRUNCATE)

-- name: checkpoint_look
-- Tells how many frames the write-ahead log has and how many of them were copied, and copies nothing.
PRAGMA wal_checkpoint(NOOP)
