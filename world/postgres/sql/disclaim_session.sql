-- Workers whose connection is gone and cannot be made anew: peers judge by their leases. By key.
UPDATE {schema}.workers SET session = false WHERE key = ANY($1::bigint[]) AND session
