-- The run is swept: nothing is known of what was delivered to it. Primary key.
DELETE FROM delivered WHERE run = ?1
