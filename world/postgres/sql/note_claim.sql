-- The fence of a claim by a worker that several servers may speak for: as lock_claim, and no other server ($4: this one)
-- makes it too. By key.
WITH noted AS (
  UPDATE {schema}.lanes SET taken = $3::bigint, taker = $4::text
  WHERE worker = $1::bigint AND lane = $2::smallint AND alive AND (taken < $3::bigint OR taken = $3::bigint AND taker = $4::text) RETURNING 1)
SELECT 1 / count(*) FROM noted
