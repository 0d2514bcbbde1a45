-- Limits of queues, as they are declared: JSON. Null: none were ever.
ALTER TABLE queues ADD COLUMN limits TEXT;

-- A message that was sent to a queue with limits has the places that each receive needs in its row, as a task has them; see 0023, 0026
-- and 0029. It keeps nothing between receives. While it stands in line (parked_us) it is not ready.
ALTER TABLE messages ADD COLUMN places TEXT;
ALTER TABLE messages ADD COLUMN has INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN parked_us INTEGER;
ALTER TABLE messages ADD COLUMN rates INTEGER NOT NULL DEFAULT 0;

-- limit_line: run is the key of a run in the queue, or, below -2^62, 3 * 2^61 less than the key of a message; else, below 0, 2^62 less
-- than the key of a task.
PRAGMA user_version = 30;
