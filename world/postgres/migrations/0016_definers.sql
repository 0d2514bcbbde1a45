-- Who has said what the versions of workflows say: where that worker is gone, one that lives says it again.
ALTER TABLE {schema}.definitions ADD COLUMN worker text NOT NULL DEFAULT ''; -- its ID; '': not known
