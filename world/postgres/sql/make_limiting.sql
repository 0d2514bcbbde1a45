-- The row that who admits locks.
INSERT INTO {schema}.limiting (revision, behind) SELECT 1, '' WHERE NOT EXISTS (SELECT FROM {schema}.limiting)
