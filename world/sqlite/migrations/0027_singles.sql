-- Singletons: of the runs of a workflow and key, the live one that starts are about. Null: it is none, or another has
-- taken its place.
ALTER TABLE queue ADD COLUMN single TEXT;
CREATE UNIQUE INDEX queue_single ON queue (single) WHERE single IS NOT NULL;

PRAGMA user_version = 27;
