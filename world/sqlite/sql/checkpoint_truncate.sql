-- The same, and cuts the log's file.
PRAGMA wal_checkpoint(TRUNCATE)
