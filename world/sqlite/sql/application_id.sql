-- Whose file it is.
PRAGMA application_id
