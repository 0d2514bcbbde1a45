-- Chunks go with the segment in which they were written. Of those that are there already nobody knows which that was: they go with the newest.
ALTER TABLE chunks ADD COLUMN segment INTEGER NOT NULL DEFAULT 0; -- number of the run_continued that began it; 0: the first

UPDATE chunks SET segment = (SELECT r.segment FROM runs r WHERE r.key = chunks.run) WHERE run IN (SELECT key FROM runs WHERE segment > 0);

PRAGMA user_version = 9;
