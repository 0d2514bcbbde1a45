-- The same of one workflow. Index runs_workflow.
SELECT key FROM {schema}.runs WHERE workflow = $3 AND key < $1 ORDER BY key DESC OFFSET $2::bigint - 1 LIMIT 1
