-- The row of a run says what its log says of a pause. One that is paused there, and to which a run_resumed was sent that nobody has appended, can be taken
-- for that: then paused is 0 and resumed 1.
ALTER TABLE queue ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;

-- Runs that are to be cancelled are taken by priority, as others are, and each since its cancel came, if nothing else made it due before.
DROP INDEX queue_cancel;
CREATE INDEX queue_cancel ON queue (priority, mail_us) WHERE cancel AND owner IS NULL;
CREATE INDEX inbox_cancel ON inbox (run, arrived_us) WHERE cancel;

PRAGMA user_version = 12;
