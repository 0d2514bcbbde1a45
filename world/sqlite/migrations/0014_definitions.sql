-- What the definitions of workflows say of their runs, for those who start them and have not the code.
CREATE TABLE definitions (
  workflow TEXT    NOT NULL,
  version  INTEGER NOT NULL,
  says     TEXT    NOT NULL, -- JSON
  PRIMARY KEY (workflow, version)
) WITHOUT ROWID;

-- What operators set for all programs of the file. retention: the most that ended runs are kept, in ns; -1: for ever.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 14;
