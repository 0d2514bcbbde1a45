-- Workers that live behind a server: the end of the process that joined them is not their death.
ALTER TABLE workers ADD COLUMN remote INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 6;
