-- What JSON the versions of workflows take and make, for those who start them and have not the code.
ALTER TABLE {schema}.definitions ADD COLUMN schemas text NOT NULL DEFAULT ''; -- JSON; '': nobody has said it
