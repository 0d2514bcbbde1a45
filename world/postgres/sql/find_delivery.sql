-- Whether a delivery ID waits already, or was sent as an act. Indexes inbox_run, acts_pkey.
SELECT 1 WHERE EXISTS (SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND delivery = $2::text)
  OR EXISTS (SELECT 1 FROM {schema}.acts WHERE run = $1::bigint AND delivery = $2::text)
