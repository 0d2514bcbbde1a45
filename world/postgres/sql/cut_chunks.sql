-- The same, of the batch in which that number is. Index chunks_pkey.
UPDATE {schema}.chunks SET n = $3::bigint - idx
WHERE run = $1::bigint AND stream = $2::text AND idx < $3::bigint AND idx > $3::bigint - n AND step = $4::text AND attempt < $5::integer AND kind = 'data'
