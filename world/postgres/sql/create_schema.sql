-- The schema is there.
CREATE SCHEMA IF NOT EXISTS {schema}
