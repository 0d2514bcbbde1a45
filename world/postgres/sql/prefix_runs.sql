-- Some runs whose IDs are between two texts. Index runs_id.
SELECT key FROM {schema}.runs WHERE ns = 0 AND id ~>=~ $1::text AND id ~<~ $2::text LIMIT $3
