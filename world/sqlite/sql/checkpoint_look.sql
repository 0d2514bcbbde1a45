-- Tells how many frames the write-ahead log has and how many of them were copied, and copies nothing.
PRAGMA wal_checkpoint(NOOP)
