-- What earlier attempts of a step wrote at a number and behind is void. Index chunks_pkey.
DELETE FROM {schema}.chunks
WHERE run = $1::bigint AND stream = $2::text AND idx >= $3::bigint AND step = $4::text AND attempt < $5::integer AND kind <> 'reset'
