-- Limits of tasks. A task whose attempts need places has them in its row, as a run has them in its row of the queue; see 0023 and
-- 0026. It keeps nothing between attempts. asked_us: when its step was asked for, and so where it stands in its first line. While it
-- stands in one (parked_us) it is visible to nobody: visible_us is far away.
ALTER TABLE tasks ADD COLUMN places TEXT;
ALTER TABLE tasks ADD COLUMN has INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN parked_us INTEGER;
ALTER TABLE tasks ADD COLUMN rates INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN asked_us INTEGER;

-- limit_line: run is the key of a run in the queue, or, below 0, 2^62 less than the key of a task.
PRAGMA user_version = 29;
