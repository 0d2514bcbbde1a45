-- The commits that follow wait for the disk.
PRAGMA synchronous = FULL
