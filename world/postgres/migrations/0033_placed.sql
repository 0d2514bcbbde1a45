-- Runs that nobody owns, and that hold places of limits or stand in line, by class: of one that no worker has they give them back. The
-- condition is written so that no other look takes this index, which may be far from small, for another.
CREATE INDEX queue_placed ON {schema}.queue (class, ready_at) WHERE owner IS NULL AND has + (parked_at IS NOT NULL)::integer > 0;
