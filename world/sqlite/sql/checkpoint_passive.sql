-- Copies the write-ahead log into the file as far as readers allow, and waits for nobody.
PRAGMA wal_checkpoint(PASSIVE)
