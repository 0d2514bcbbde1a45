-- Singletons: of the runs of a workflow and key, the live one that starts are about. Null: it is none, or another has
-- taken its place.
ALTER TABLE {schema}.queue ADD COLUMN single text COLLATE "C";
CREATE UNIQUE INDEX queue_single ON {schema}.queue (single) WHERE single IS NOT NULL;
