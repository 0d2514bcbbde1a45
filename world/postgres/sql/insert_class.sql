-- A class is seen for the first time; another process may have been quicker.
INSERT INTO {schema}.classes (workflow, version) VALUES ($1::text, $2::integer) ON CONFLICT DO NOTHING
