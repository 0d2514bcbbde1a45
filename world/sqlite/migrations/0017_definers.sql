-- Who has said what the versions of workflows say: where that worker is gone, one that lives says it again.
ALTER TABLE definitions ADD COLUMN worker TEXT NOT NULL DEFAULT ''; -- its ID; '': not known

PRAGMA user_version = 17;
