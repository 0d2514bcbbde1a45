-- What is known of a delivery ($2: its key, $3: its ID). Primary key of delivered, indexes inbox_run, acts_pkey.
SELECT d.print, d.late IS NOT NULL FROM {schema}.delivered d WHERE d.run = $1::bigint AND d.key = $2::bytea
UNION ALL SELECT NULL, false WHERE EXISTS (SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND delivery = $3::text AND key = '')
  OR EXISTS (SELECT 1 FROM {schema}.acts WHERE run = $1::bigint AND delivery = $3::text)
