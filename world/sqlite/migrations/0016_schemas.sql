-- What JSON the versions of workflows take and make, for those who start them and have not the code.
ALTER TABLE definitions ADD COLUMN schemas TEXT NOT NULL DEFAULT ''; -- JSON; '': nobody has said it

PRAGMA user_version = 16;
