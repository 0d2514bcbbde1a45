-- Runs that are blocked or paused are found: there are few beside those that sleep.
CREATE INDEX queue_stopped ON queue (run) WHERE blocked IS NOT NULL OR paused OR resumed;

PRAGMA user_version = 13;
