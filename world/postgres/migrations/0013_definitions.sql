-- What the definitions of workflows say of their runs, for those who start them and have not the code.
CREATE TABLE {schema}.definitions (
  workflow text    NOT NULL,
  version  integer NOT NULL,
  says     text    NOT NULL, -- JSON
  PRIMARY KEY (workflow, version)
);

-- What operators set for all programs of the database. retention: the most that ended runs are kept, in ns; -1: for ever.
CREATE TABLE {schema}.settings (
  name  text   PRIMARY KEY,
  value bigint NOT NULL
);
