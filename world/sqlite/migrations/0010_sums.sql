-- Checksums, see Sum of package world. Null: a release before wrote the row.
ALTER TABLE log    ADD COLUMN sum INTEGER;
ALTER TABLE inbox  ADD COLUMN sum INTEGER;
ALTER TABLE tasks  ADD COLUMN sum INTEGER; -- of what never changes
ALTER TABLE chunks ADD COLUMN sum INTEGER;
ALTER TABLE runs   ADD COLUMN sum     INTEGER; -- of what never changes
ALTER TABLE runs   ADD COLUMN end_sum INTEGER; -- of what its end wrote

PRAGMA user_version = 10;
