-- A step was made.
INSERT INTO {schema}.versions (version, name) VALUES ($1, $2)
