-- Of some tasks, those that are of no run: nobody is given them again; doctor names them. By key.
UPDATE {schema}.tasks t SET visible_at = '9999-12-31T00:00:00Z'
WHERE t.key = ANY($1::bigint[]) AND t.worker IS NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = t.run)
