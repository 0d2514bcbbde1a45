-- A limit that a run needs, as the first start under it says.
INSERT INTO {schema}.limits (name, said, until_end) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
