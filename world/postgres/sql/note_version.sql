-- A step was taken.
INSERT INTO {schema}.versions (version, name) VALUES ($1, $2)
