-- The schemas of a version of a workflow. Index definitions_pkey.
SELECT d.schemas FROM {schema}.definitions d WHERE d.workflow = $1 AND d.version = $2
